"""The API reference: `docs/api.md` contains every public name, and every public name has a docstring.

The names are read from the modules. If a new one is missing from the page, a test fails.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
PUBLIC_MODULES = (
    "addtree",
    "addtree.errors",
    "addtree.problems",
    "addtree.optuna",
    "addtree.configspace",
    "addtree.sklearn",
    "addtree.report",
    "addtree.report.plots",
    "addtree.report.front_plots",
)
_DIRECTIVE = re.compile(r"^::: (\S+)\n(?:    options: \{(.*)\}\n)?", re.MULTILINE)
_MEMBERS = re.compile(r"members: \[(.*?)\]")
_EXCLUDED = re.compile(r'"!(.*?)"')


@dataclass(frozen=True)
class Directive:
    """One directive of the page: what it documents, and its options as text."""

    path: str
    options: str

    @cached_property
    def target(self) -> Any:
        """The object with that path."""
        parts = self.path.split(".")
        for n in range(len(parts), 0, -1):
            try:
                found: Any = importlib.import_module(".".join(parts[:n]))
            except ModuleNotFoundError:
                continue
            for name in parts[n:]:
                found = getattr(found, name)
            return found
        raise ModuleNotFoundError(self.path)

    @property
    def members(self) -> list[str] | None:
        """The members that are listed; None if all are shown."""
        found = _MEMBERS.search(self.options)
        return None if found is None else [name.strip() for name in found[1].split(",") if name.strip()]

    def documented(self) -> list[Any]:
        """The object itself, and the public members of a module that no filter excludes."""
        if not isinstance(self.target, ModuleType):
            return [self.target]
        excluded = _EXCLUDED.findall(self.options)
        return [
            getattr(self.target, name)
            for name in public_names(self.target)
            if not any(re.search(pattern, name) for pattern in excluded)
        ]


def public_names(module: ModuleType) -> list[str]:
    """The names in `__all__`, else the classes and functions that the module defines, without private ones."""
    listed = getattr(module, "__all__", None)
    defined = [name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__]
    return [name for name in (defined if listed is None else listed) if not name.startswith("_")]


DIRECTIVES = [Directive(path, options) for path, options in _DIRECTIVE.findall(PAGE)]
PUBLIC = [(module, name) for module in PUBLIC_MODULES for name in public_names(importlib.import_module(module))]
DESCRIPTORS = (property, cached_property, classmethod, staticmethod)


def public_methods(cls: type) -> Iterator[str]:
    """The public methods and properties of a class that modules of addtree define."""
    for base in cls.__mro__:
        if base.__module__.split(".")[0] == "addtree":
            for name, value in vars(base).items():
                if not name.startswith("_") and (callable(value) or isinstance(value, DESCRIPTORS)):
                    yield name


def has_docstring(target: Any) -> bool:
    """Whether an object has a docstring, its own or inherited; the one that `dataclass` generates does not count."""
    found = inspect.getdoc(target) or ""
    return bool(found) and not (inspect.isclass(target) and found.startswith(f"{target.__name__}("))


def test_the_page_has_directives() -> None:
    assert len(DIRECTIVES) > 15
    assert len(PAGE.split("\n:::")) - 1 == len(DIRECTIVES)  # the pattern above finds them all


@pytest.mark.parametrize(("module", "name"), PUBLIC)
def test_every_public_name_is_on_the_page(module: str, name: str) -> None:
    target = getattr(importlib.import_module(module), name)
    assert any(target is found for directive in DIRECTIVES for found in directive.documented())


@pytest.mark.parametrize("directive", DIRECTIVES, ids=lambda directive: directive.path)
def test_members_that_the_page_lists_exist(directive: Directive) -> None:
    """The site leaves out an unknown member without a warning."""
    assert all(hasattr(directive.target, name) for name in directive.members or ())


@pytest.mark.parametrize("module", PUBLIC_MODULES)
def test_every_public_module_has_a_docstring(module: str) -> None:
    assert importlib.import_module(module).__doc__


@pytest.mark.parametrize(("module", "name"), PUBLIC)
def test_every_public_name_has_a_docstring(module: str, name: str) -> None:
    target = getattr(importlib.import_module(module), name)
    assert has_docstring(target)
    if inspect.isclass(target):
        undocumented = [name for name in public_methods(target) if not has_docstring(getattr(target, name))]
        assert not undocumented
