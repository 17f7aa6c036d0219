"""`AddTreeSampler`: Bayesian optimization for conditional parameters."""

from .sampler import AddTreeSampler

__all__ = ["AddTreeSampler"]
