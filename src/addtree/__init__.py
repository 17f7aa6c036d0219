"""Bayesian optimization for conditional parameter spaces."""

from addtree.errors import AddTreeError
from addtree.parameters import Categorical, Integer, Real
from addtree.space import Choice, Space

__all__ = ["AddTreeError", "Categorical", "Choice", "Integer", "Real", "Space"]
