"""Bayesian optimization for conditional parameter spaces."""

from addtree._minimize import Result, minimize
from addtree.errors import AddTreeError
from addtree.optimizer import Optimizer, Trial
from addtree.regression import AddTreeGP
from addtree.space import Categorical, Choice, Integer, Real, Space

__all__ = [
    "AddTreeError",
    "AddTreeGP",
    "Categorical",
    "Choice",
    "Integer",
    "Optimizer",
    "Real",
    "Result",
    "Space",
    "Trial",
    "minimize",
]
