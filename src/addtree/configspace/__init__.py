"""Conversion of spaces from and to ConfigSpace.

    ConfigSpace                               addtree
    uniform float, integer (log too)          Real, Integer
    normal, beta                              Real, Integer with the same bounds; a warning names the lost prior
    categorical                               Categorical; a warning names lost weights
    ordinal                                   Categorical with ordered=True
    an ordinal that stands for steps          Real, Integer with `step`, which `to_configspace` noted in its `meta`
    constant                                  Integer, Real or Categorical with a single value
    a categorical or ordinal with conditions  Choice; a warning names an order that is lost
    a number with conditions                  Integer, Real with `opens`
    equals, not equals, in, less, greater     the options or intervals of the parent that open the child
    and                                       exact if the conditions have one parent, or one of them implies the others
    or                                        exact if the conditions have one parent, or exclude each other
    forbidden clauses                         rules (`Space.where`); a warning names a rule without a clause
    the default configuration                 `default_config(cs)`, for `Optimizer(space, initial=[default_config(cs)])`

Other conditions make a parameter active more often than in ConfigSpace, and a warning names it.

Both sides use the same values, so a configuration of one is a configuration of the other: `space.validate(dict(c))` and
`Configuration(cs, values=config)`.

domains       hyperparameters and domains
regions       which values of a parent a condition allows
conditions    the conditions of a ConfigurationSpace as places in a tree, and back
clauses       forbidden clauses as rules
rule_clauses  rules as forbidden clauses
spaces        `from_configspace`, `to_configspace`, `default_config`
"""

from addtree.errors import DependencyError

try:
    import ConfigSpace as _ConfigSpace  # noqa: F401
except ImportError as error:
    raise DependencyError("addtree.configspace needs ConfigSpace; pip install 'addtree[configspace]'") from error

from addtree.configspace.spaces import default_config, from_configspace, to_configspace

__all__ = ["default_config", "from_configspace", "to_configspace"]
