"""YAHPO Gym: surrogates of real tuning runs (Pfisterer et al. 2022), as addtree spaces and objectives to minimise.

A scenario is a folder with `config_space.json` (ConfigSpace's form), `encoding.json` (categories to numbers) and
`model.onnx`. Fidelities are held at their maximum; the instance (an OpenML data set) is held at the task's.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from addtree import Categorical, Choice, Integer, Real, Space
from addtree.space.parameters import Parameter
from benchmarks.tasks.task import MissingDataError

INSTANCE = "task_id"  # The name of the parameter that selects the data set.
# The remedy for missing data, as the messages give it.
WHERE = "clone https://github.com/slds-lmu/yahpo_data to a folder called yahpo, and name the folder that holds it"


@dataclass(frozen=True)
class Layout:
    """The order of a model's outputs and of the columns of its two inputs, which its file does not contain."""

    targets: tuple[str, ...]
    fidelities: Mapping[str, float]
    categories: tuple[str, ...]
    numbers: tuple[str, ...]


_BOOSTED = (
    *("nrounds", "eta", "gamma", "lambda", "alpha", "subsample", "max_depth", "min_child_weight"),
    *("colsample_bytree", "colsample_bylevel", "rate_drop", "skip_drop"),
)
_RANGER = ("num.trees", "sample.fraction", "mtry.ratio", "min.node.size", "num.random.splits")
LAYOUTS = {
    "iaml_super": Layout(
        targets=(
            *("mmce", "f1", "auc", "logloss", "ramtrain", "rammodel", "rampredict", "timetrain", "timepredict"),
            *("mec", "ias", "nf"),
        ),
        fidelities={"trainsize": 1.0},
        categories=(
            *(INSTANCE, "learner", "ranger.replace", "ranger.respect.unordered.factors", "ranger.splitrule"),
            "xgboost.booster",
        ),
        numbers=(
            *(f"ranger.{name}" for name in _RANGER),
            *(f"rpart.{name}" for name in ("cp", "maxdepth", "minbucket", "minsplit")),
            *("glmnet.alpha", "glmnet.s"),
            *(f"xgboost.{name}" for name in _BOOSTED),
            "trainsize",
        ),
    ),
    "rbv2_super": Layout(
        targets=("mmce", "f1", "auc", "logloss", "timetrain", "timepredict"),
        fidelities={"trainsize": 1.0, "repl": 10},
        categories=(
            *(INSTANCE, "learner", "svm.kernel", "ranger.respect.unordered.factors", "ranger.splitrule"),
            *("aknn.distance", "xgboost.booster", "num.impute.selected.cpo"),
        ),
        numbers=(
            *(f"svm.{name}" for name in ("cost", "gamma", "tolerance", "degree")),
            *("glmnet.alpha", "glmnet.s"),
            *(f"rpart.{name}" for name in ("cp", "maxdepth", "minbucket", "minsplit")),
            *(f"ranger.{name}" for name in ("num.trees", "sample.fraction", "mtry.power")),
            *("ranger.min.node.size", "ranger.num.random.splits"),
            *(f"aknn.{name}" for name in ("k", "M", "ef", "ef_construction")),
            *(f"xgboost.{name}" for name in _BOOSTED),
            *("trainsize", "repl"),
        ),
    ),
    "rbv2_svm": Layout(
        targets=("mmce", "f1", "auc", "logloss", "timetrain", "timepredict"),
        fidelities={"trainsize": 1.0, "repl": 10},
        categories=(INSTANCE, "kernel", "num.impute.selected.cpo"),
        numbers=("cost", "gamma", "tolerance", "degree", "trainsize", "repl"),
    ),
    "rbv2_xgboost": Layout(
        targets=("acc", "bac", "auc", "brier", "f1", "logloss", "timetrain", "timepredict", "memory"),
        fidelities={"trainsize": 1.0, "repl": 10},
        categories=(INSTANCE, "booster", "num.impute.selected.cpo"),
        numbers=(*_BOOSTED, "trainsize", "repl"),
    ),
}
SHARES = {"acc", "auc", "bac", "f1"}  # These targets lie in [0, 1] and are to be maximised: the objective is 1 - value.


def folder(scenario: str) -> Path:
    """The folder of a scenario, or a MissingDataError that says how to get it."""
    root = os.environ.get("ADDTREE_DATA")
    if root is None:
        raise MissingDataError(f"yahpo/{scenario}: ADDTREE_DATA is not set; {WHERE} in ADDTREE_DATA")
    path = Path(root) / "yahpo" / scenario
    if not (path / "model.onnx").exists():
        raise MissingDataError(f"yahpo/{scenario}: {path} has no model.onnx; {WHERE} in ADDTREE_DATA")
    return path


def read_space(form: Mapping[str, Any], *, without: set[str]) -> Space:
    """The Space of a ConfigSpace in JSON form: a parameter belongs to every option that makes it active.

    A parameter that is active under two of three options has the same name under both, so it is one shared variable.
    """
    raw = {entry["name"]: entry for entry in form["hyperparameters"] if entry["name"] not in without}
    conditions: dict[str, dict[str, tuple[Any, ...]]] = {name: {} for name in raw}
    for entry in form["conditions"]:
        for part in entry["conditions"] if entry["type"] == "AND" else [entry]:
            allowed = tuple(part["values"]) if part["type"] == "IN" else (part["value"],)
            conditions[entry["child"]][part["parent"]] = allowed
    parents = {parent for needs in conditions.values() for parent in needs}

    def node(path: dict[str, Any]) -> Space:
        """The space that the last option of `path` opens, given the options before it."""
        children: dict[str, Parameter | Choice] = {}
        last = next(reversed(path), None)
        for name, needs in conditions.items():
            opened = all(path.get(parent) in allowed for parent, allowed in needs.items())
            if name in path or not opened or (last is not None and last not in needs):
                continue
            if name in parents:
                children[name] = Choice({option: node({**path, name: option}) for option in raw[name]["choices"]})
            else:
                children[name] = _parameter(raw[name])
        return Space(children)

    space = node({})
    lost = set(raw) - set(space.variables)
    if lost:
        raise ValueError(f"{sorted(lost)} depend on several independent choices at once, which a Space cannot express")
    return space


def _parameter(entry: Mapping[str, Any]) -> Parameter:
    if entry["type"] == "categorical":
        return Categorical(tuple(entry["choices"]))
    kind = Integer if entry["type"] == "uniform_int" else Real
    return kind(entry["lower"], entry["upper"], log=bool(entry["log"]))


@cache
def _session(path: Path) -> Any:
    import onnxruntime  # a large import that only these tasks need

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path / "model.onnx"), options, providers=["CPUExecutionProvider"])


def problem(scenario: str, instance: str, target: str) -> tuple[Space, Callable[[Mapping[str, Any]], float]]:
    """The space and the objective of one task."""
    if find_spec("onnxruntime") is None:
        raise MissingDataError(f"yahpo/{scenario}: onnxruntime is not installed; pip install -e '.[bench]'")
    path, layout = folder(scenario), LAYOUTS[scenario]
    form = json.loads((path / "config_space.json").read_text())
    codes = json.loads((path / "encoding.json").read_text())
    column = layout.targets.index(target)
    if instance not in codes[INSTANCE]:
        raise ValueError(f"{scenario} has no instance {instance!r}; it has {sorted(codes[INSTANCE])}")

    def objective(config: Mapping[str, Any]) -> float:
        full = {**config, **layout.fidelities, INSTANCE: instance}
        categories = [[codes[name][full.get(name, "#na#")] for name in layout.categories]]
        # An inactive number is 0, as in the training of the model.
        numbers = [[full.get(name, 0.0) for name in layout.numbers]]
        inputs = {"x_cat": np.array(categories, np.int32), "x_cont": np.array(numbers, np.float32)}
        value = float(_session(path).run(None, inputs)[0][0, column])
        return 1 - value if target in SHARES else value

    return read_space(form, without={INSTANCE, *layout.fidelities}), objective
