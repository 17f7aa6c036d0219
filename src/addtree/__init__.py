"""Bayesian optimization for conditional parameter spaces."""

from addtree.errors import AddTreeError
from addtree.minimize import Result, minimize
from addtree.optimizer import Optimizer, Trial
from addtree.parameters import Categorical, Integer, Real
from addtree.regression import AddTreeGP
from addtree.space import Choice, Space

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
