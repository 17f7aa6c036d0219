"""Lists of configurations, as a user gives them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from addtree._types import Config
from addtree.errors import ConfigError


def listed(configs: Iterable[Config]) -> Sequence[Config]:
    """The configurations as a list, or a ConfigError if they are something else, such as a single one or a table."""
    found = list(configs) if isinstance(configs, Iterable) else [configs]
    for wrong in (config for config in found if not isinstance(config, Mapping)):
        got = f"{type(configs).__name__} with {wrong!r}"
        raise ConfigError(f"configs must be a list of configurations, got {got}; give a dict for each: [config, ...]")
    return found
