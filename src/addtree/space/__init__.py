"""Conditional spaces: parameters, the tree they form, and its encoding as arrays."""

from addtree.space.parameters import Categorical, Integer, Real
from addtree.space.space import Choice, Space

__all__ = ["Categorical", "Choice", "Integer", "Real", "Space"]
