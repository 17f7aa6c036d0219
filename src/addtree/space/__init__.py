"""Conditional spaces: parameters, the tree they form, and its encoding as arrays.

parameters   numbers and categories: their domains and codes
tree         nodes, vertices, conditions, and the walks along the tree
encoding     configurations as arrays: conversion, and the one sampler
space        `Space` and `Choice`: definition, validation, JSON, text
restriction  the configurations that agree with a partial one
assembly     a space from parameters and their conditions, as other tools describe it
"""

from addtree.space.parameters import Categorical, Integer, Real
from addtree.space.space import Choice, Space

__all__ = ["Categorical", "Choice", "Integer", "Real", "Space"]
