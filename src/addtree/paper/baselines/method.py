"""What every optimizer of a comparison looks like."""

from __future__ import annotations

from typing import Any, Protocol

from addtree._types import Config


class Method(Protocol):
    """One run of an optimizer: `ask` and `tell` are called strictly in turn."""

    def ask(self) -> dict[str, Any]:
        """The configuration to evaluate next; it holds the active parameters only."""
        ...

    def tell(self, config: Config, value: float) -> None:
        """The value, to be minimised, of the configuration that was just asked for."""
        ...
