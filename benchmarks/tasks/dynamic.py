"""Tasks with dynamic ranges: the range of a parameter depends on the values before it.

Define-by-run code writes such a range as it is, for example `trial.suggest_float("x", 0, n)`. A library that wants its
space declared gets the position within the range instead, a number in [0, 1], as its users would have to write it. The
configurations of both hold positions. Every least value is 0, inside all ranges.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from addtree import Choice, Integer, Real, Space
from benchmarks.tasks.task import Task

POSITION = Real(0, 1)


def _at(position: float, low: float, high: float, *, log: bool = False) -> float:
    """The value at a position of a range."""
    return float(low * (high / low) ** position if log else low + position * (high - low))


def _position(value: float, low: float, high: float, *, log: bool = False) -> float:
    """The position of a value in its range."""
    found = math.log(value / low) / math.log(high / low) if log else (value - low) / (high - low)
    return min(max(found, 0.0), 1.0)


def stages() -> Task:
    """Two cuts of a line that grows with the number of stages: 0 <= x <= n, x <= y <= n + 1."""

    def program(trial: Any) -> dict[str, Any]:
        n = trial.suggest_int("n", 1, 6)
        x = trial.suggest_float("x", 0, n)
        y = trial.suggest_float("y", x, n + 1)
        config = {"n": n, "x": _position(x, 0, n), "y": _position(y, x, n + 1)}
        config["rule"] = trial.suggest_categorical("rule", ["even", "odd"])
        name = "a" if config["rule"] == "even" else "b"
        return config | {name: trial.suggest_float(name, 0, 1)}

    def objective(config: Mapping[str, Any]) -> float:
        n = config["n"]
        x = _at(config["x"], 0, n)
        y = _at(config["y"], x, n + 1)
        own = (config["a"] - 0.3) ** 2 if config["rule"] == "even" else 0.2 + (config["b"] - 0.6) ** 2
        return float((n - 4) ** 2 / 9 + (x - 1.3) ** 2 + (y - x - 1.7) ** 2 + own)

    rule = Choice(even=Space(a=POSITION), odd=Space(b=POSITION))
    space = Space(n=Integer(1, 6), x=POSITION, y=POSITION, rule=rule)
    return Task("stages", space, objective, 0.0, exact=True, program=program)


def rates() -> Task:
    """A learning rate that falls from a largest to a smallest one, min <= max, by a schedule of two kinds."""

    def program(trial: Any) -> dict[str, Any]:
        least = trial.suggest_float("min_lr", 1e-6, 1e-1, log=True)
        most = trial.suggest_float("max_lr", least, 1.0, log=True)
        config = {
            "min_lr": _position(least, 1e-6, 1e-1, log=True),
            "max_lr": _position(most, least, 1.0, log=True),
            "schedule": trial.suggest_categorical("schedule", ["cosine", "steps"]),
        }
        if config["schedule"] == "cosine":
            return config | {"warmup": trial.suggest_float("warmup", 0, 1)}
        every = trial.suggest_int("every", 1, 50)
        offset = trial.suggest_int("offset", 0, every)
        return config | {"every": every, "offset": _position(offset, 0, every)}

    def objective(config: Mapping[str, Any]) -> float:
        least = _at(config["min_lr"], 1e-6, 1e-1, log=True)
        most = _at(config["max_lr"], least, 1.0, log=True)
        value = (math.log10(least) + 4.2) ** 2 / 4 + (math.log10(most) + 1.6) ** 2 / 2
        if config["schedule"] == "cosine":
            return float(value + 0.1 + (config["warmup"] - 0.15) ** 2)
        every = config["every"]
        offset = round(_at(config["offset"], 0, every))
        return float(value + (every - 20) ** 2 / 400 + (offset - 5) ** 2 / 100)

    options = {"cosine": Space(warmup=POSITION), "steps": Space(every=Integer(1, 50), offset=POSITION)}
    space = Space(min_lr=POSITION, max_lr=POSITION, schedule=Choice(options))
    return Task("rates", space, objective, 0.0, exact=True, program=program)


def leaves() -> Task:
    """A tree with at most 2^depth leaves, and two ways to grow it."""

    def program(trial: Any) -> dict[str, Any]:
        depth = trial.suggest_int("depth", 2, 12)
        leaves = trial.suggest_int("leaves", 2, 2**depth, log=True)
        config = {"depth": depth, "leaves": _position(leaves, 2, 2**depth, log=True)}
        config["growth"] = trial.suggest_categorical("growth", ["depthwise", "leafwise"])
        if config["growth"] == "depthwise":
            return config | {"rate": trial.suggest_float("rate", 1e-3, 1, log=True)}
        return config | {"gain": trial.suggest_float("gain", 0, 1)}

    def objective(config: Mapping[str, Any]) -> float:
        depth = config["depth"]
        leaves = round(_at(config["leaves"], 2, 2**depth, log=True))
        value = (depth - 7) ** 2 / 20 + math.log2(leaves / 40) ** 2 / 8
        if config["growth"] == "depthwise":
            return float(value + 0.1 + (math.log10(config["rate"]) + 1.2) ** 2 / 3)
        return float(value + (config["gain"] - 0.35) ** 2)

    growth = Choice(depthwise=Space(rate=Real(1e-3, 1, log=True)), leafwise=Space(gain=POSITION))
    space = Space(depth=Integer(2, 12), leaves=POSITION, growth=growth)
    return Task("leaves", space, objective, 0.0, exact=True, program=program)
