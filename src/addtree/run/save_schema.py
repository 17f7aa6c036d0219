"""What a save file must contain: its fields, their types and their ranges.

`check` runs before anything is built from a file. It covers what can be said without the space; whether the trials fit
the space is checked when the optimizer is built. To add a field, add a line to one of the tables, and raise the version
of the format (see `save_format`).

Every field is required, and no other field is allowed. A newer addtree writes a newer version, so an unknown field in a
known version is damage. If it were ignored, the next save would lose it silently.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from addtree.run.goals import VALUE
from addtree.support.numbers import is_finite, is_whole, plural

MAX_COUNT = 10**15
"""No run asks more often than this."""

STATES = ("pending", "done", "failed", "forgotten")
"""The states of a trial. A forgotten one keeps its place in the list, because the place of a trial is its id."""

_MAX_SHOWN = 60
"""A wrong value is shown up to this many characters."""


@dataclass(frozen=True)
class Field:
    """One field: what it must be, in words, and whether a value is that."""

    expected: str
    accepts: Callable[[Any], bool]


def _whole(low: int, high: int) -> Field:
    return Field(f"a whole number from {low} to {high}", lambda v: is_whole(v) and low <= v <= high)


def _or_null(field: Field) -> Field:
    return Field(f"{field.expected} or null", lambda v: v is None or field.accepts(v))


def _by_name(expected: str, accepts: Callable[[Any], bool]) -> Field:
    return Field(f"an object of {expected}", lambda v: isinstance(v, dict) and all(map(accepts, v.values())))


def _list_of(expected: str, accepts: Callable[[Any], bool]) -> Field:
    return Field(f"a list of {expected}", lambda v: isinstance(v, list) and all(map(accepts, v)))


_NOT_NEGATIVE = Field("a finite number, zero or more, or null", lambda v: v is None or (is_finite(v) and v >= 0))
_TEXT = Field("a string", lambda v: isinstance(v, str))
_OBJECT = Field("an object", lambda v: isinstance(v, dict))
_FLAG = Field("true or false", lambda v: isinstance(v, bool))

STATE_FIELDS = {
    "space": _OBJECT,
    "run": _or_null(_TEXT),
    "seed": Field("a whole number, zero or more", lambda v: is_whole(v) and v >= 0),
    "maximize": _FLAG,
    "objectives": _or_null(_OBJECT),
    "constraints": _OBJECT,
    "covariance": _TEXT,
    "acquisition": _TEXT,
    "inference": _TEXT,
    "noise": Field(
        "a number, zero or more, an object of such numbers, or null",
        lambda v: all(_NOT_NEGATIVE.accepts(std) for std in (v.values() if isinstance(v, dict) else [v])),
    ),
    "reference_point": _or_null(_OBJECT),
    "cost_aware": _FLAG,
    "n_initial": _whole(1, MAX_COUNT),
    "initial": _list_of("objects", _OBJECT.accepts),
    "history": _list_of("objects", _OBJECT.accepts),
    "asks": _whole(0, MAX_COUNT),
    "trials": _list_of("objects", _OBJECT.accepts),
    "told": _list_of("whole numbers", is_whole),
}
OPTIONS = (
    *("seed", "maximize", "objectives", "constraints", "covariance", "acquisition", "inference", "noise"),
    *("reference_point", "cost_aware", "n_initial", "initial"),
)
"""The fields that are arguments of `Optimizer`."""

TRIAL_FIELDS = {
    "config": _OBJECT,
    "state": Field(f"one of {', '.join(STATES)}", lambda v: v in STATES),
    "values": _by_name("finite numbers", is_finite),
    "stds": _by_name("finite numbers, zero or more", lambda v: is_finite(v) and v >= 0),
    "duration": _NOT_NEGATIVE,
    "cost": Field("a finite number above zero, or null", lambda v: v is None or (is_finite(v) and v > 0)),
    "error": _or_null(_TEXT),
    "traceback": _or_null(_TEXT),
}
TASK_FIELDS = {
    "configs": _list_of("objects", _OBJECT.accepts),
    "values": _list_of("lists of finite numbers", lambda v: isinstance(v, list) and all(map(is_finite, v))),
}
MODEL_FIELDS = {
    "n": _whole(1, MAX_COUNT),
    "n_fresh": _whole(1, MAX_COUNT),
    "theta": _list_of("finite numbers", is_finite),
}


def check(state: Mapping[str, Any]) -> None:
    """Raise a ValueError that names the first field that is missing, unknown or wrong. The model is checked apart."""
    check_fields(state, STATE_FIELDS, ignored=("format", "version", "models"))
    names = {*(state["objectives"] or (VALUE,)), *state["constraints"]}
    for number, trial in enumerate(state["trials"]):
        check_fields(trial, TRIAL_FIELDS, f"trial {number}: ")
        if trial["values"].keys() != (names if trial["state"] == "done" else set()):
            raise ValueError(f"trial {number}: it is {trial['state']} with values {shown(trial['values'])}")
        if not trial["stds"].keys() <= trial["values"].keys():
            raise ValueError(f"trial {number}: stds: it must name values of the trial, got {shown(trial['stds'])}")
    for number, task in enumerate(state["history"]):
        check_fields(task, TASK_FIELDS, f"history {number}: ")
        n_objectives = len(state["objectives"] or (VALUE,))
        if [len(values) for values in task["values"]] != [len(task["configs"])] * n_objectives:
            sizes = [plural(len(task["configs"]), "config"), *(plural(len(own), "value") for own in task["values"])]
            raise ValueError(f"history {number}: it has {', '.join(sizes)}")
    told = [i for i, trial in enumerate(state["trials"]) if trial["state"] in ("done", "failed")]
    if sorted(state["told"]) != told:
        raise ValueError("told: it must list each trial that is done or failed, once")


def check_models(state: Mapping[str, Any]) -> None:
    """Raise a ValueError if the models are not those of the trials of a checked state."""
    check_fields(state, {"models": _or_null(_list_of("objects", _OBJECT.accepts))}, ignored=tuple(state))
    if state["models"] is None:
        return
    n_values = len(state["objectives"] or (VALUE,)) + len(state["constraints"])
    if len(state["models"]) != n_values:
        raise ValueError(f"models: there must be {n_values} of them, got {len(state['models'])}")
    for number, model in enumerate(state["models"]):
        check_fields(model, MODEL_FIELDS, f"model {number}: ")
        if model["n"] > len(state["told"]):
            raise ValueError(f"model {number}: n: it must be at most the number of trials told, got {model['n']}")


def check_fields(
    form: Mapping[str, Any], fields: Mapping[str, Field], where: str = "", *, ignored: tuple[str, ...] = ()
) -> None:
    """Raise a ValueError unless a form has exactly these fields, each as expected; `where` begins the message."""
    for name, field in fields.items():
        if name not in form:
            raise ValueError(f"{where}{name}: it is missing")
        if not field.accepts(form[name]):
            raise ValueError(f"{where}{name}: it must be {field.expected}, got {shown(form[name])}")
    for name in form:
        if name not in fields and name not in ignored:
            raise ValueError(f"{where}{shown(name)}: this field is unknown; remove it")


def shown(value: Any) -> str:
    """A value as it stands in a message: cut short if it is long."""
    if isinstance(value, (dict, list)):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)}"
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "..."
