"""The Optuna sampler of addtree: `AddTreeSampler`. It needs `pip install 'addtree[optuna]'`."""

from addtree._optuna.sampler import AddTreeSampler

__all__ = ["AddTreeSampler"]
