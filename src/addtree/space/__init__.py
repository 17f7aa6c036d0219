"""Conditional spaces: parameters, the tree they form, and its encoding as arrays.

labels       the values of categories and the options of choices
grid         numbers with finitely many values
cells        numbers that open parameters
number       what all numbers have in common
parameters   numbers and categories: their domains and codes
choice       choices, whose options open subspaces
configs      lists of configurations, as a user gives them
tree         nodes, vertices, conditions, and the walks along the tree
encoding     configurations as arrays: conversion, and the one sampler
rules        rules between parameters; `rule_syntax`, `rule_builder` and `rule_expressions` turn texts into conditions
narrowing    numbers that rules confine to a small part of their range
decoding     the values of rows, as rules read them
feasibility  rules on arrays: which rows are valid, and where valid rows are
forms        spaces in words and as JSON
limits       the largest JSON form of a space that is accepted
space        `Space`: definition, validation
restriction  the configurations that agree with a partial one
assembly     a space from parameters and their conditions, as other tools describe it
"""

from addtree.space.choice import Choice
from addtree.space.parameters import Categorical, Integer, Real
from addtree.space.space import Space

__all__ = ["Categorical", "Choice", "Integer", "Real", "Space"]
