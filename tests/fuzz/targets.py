"""What is mutated, and what must work with the result."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import addtree as at
from addtree.trials import Evaluation
from tests.fuzz.mutations import mutate_bytes, mutate_document, to_bytes, to_object

SAVES = Path(__file__).parents[1] / "data" / "saves"
NUMBERED = at.Space(
    x=at.Real(-5, 5),
    n=at.Integer(1, 100, log=True),
    layers=at.Choice({1: at.Space(z=at.Categorical([0, None, True])), 2: at.Space(width=at.Integer(8, 64))}),
)
NAMED = at.Space(
    rate=at.Real(1e-4, 1, log=True),
    model=at.Choice(a=at.Space(y=at.Real(0, 1), k=at.Choice(p=at.Space(), q=at.Space(g=at.Real(0, 1)))), b=at.Space()),
    mode=at.Categorical(["fast", "slow"]),
)
WITH_RULES = at.Space(
    layers=at.Integer(1, 4, opens={(2, 4): at.Space(u2=at.Integer(8, 64, step=8)), (4, 4): at.Space(u4=at.Real(0, 1))}),
    rate=at.Real(1e-4, 1, log=True, opens={(0.1, 1.0): at.Space(momentum=at.Real(0, 0.9, step=0.1))}),
    size=at.Categorical(["low", "mid", "high"], ordered=True),
    version=at.Integer(3, 3),
    model=at.Choice(a=at.Space(y=at.Real(0, 1), z=at.Real(0, 1)).where("y <= z"), b=at.Space()),
).where("u2 <= 16 * layers", "size < 'high' or rate < 0.5")
RUNS: tuple[dict[str, Any], ...] = (
    {"space": NUMBERED},
    {"space": NAMED, "maximize": True, "noise": 0.1},
    {"space": NAMED, "covariance": "additive", "acquisition": "additive-ucb", "inference": "mle"},
    {"space": NUMBERED, "covariance": "independent", "acquisition": "thompson"},
    {"space": WITH_RULES, "initial": [{"layers": 4}, {"y": 0.25}] + [{"u2": 16}] * 8},
)


@dataclass(frozen=True)
class Target:
    """Documents to mutate, and `use`, which raises `refusal` or works.

    use  called with a mutated document as bytes and, if it was mutated as a document, as an object
    """

    documents: Callable[[], list[Any]]
    use: Callable[[bytes, Any], None]
    refusal: type[Exception]


def mutated(target, seed, case):
    """The bytes of a case, and its object unless only bytes were mutated."""
    rng = np.random.default_rng([seed, case])
    documents = target.documents()
    document = documents[rng.integers(len(documents))]
    if rng.random() < 0.3:
        return mutate_bytes(json.dumps(document).encode(), rng), None
    document = mutate_document(document, rng)
    return to_bytes(document), to_object(document)


# ------------------------------------------------------------------ save files


@cache
def saved_states():
    """The states of save files: those of every past version, and of runs with all settings."""
    states = [json.loads(path.read_text()) for path in sorted(SAVES.glob("*.json"))]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.json"
        for settings in RUNS:
            optimizer = at.Optimizer(seed=0, n_initial=4, **settings)
            for i in range(8):
                value = math.nan if i == 5 else (i - 3.5) ** 2
                optimizer.tell(optimizer.ask(), value, std=0.5 if i == 2 else None)
            failure = Evaluation(0.5, "ValueError: no (train.py, line 3, in f)", "Traceback ...")
            optimizer.tell(optimizer.ask(), failed=True, evaluation=failure)
            optimizer.forget(optimizer.ask())
            optimizer.ask()
            optimizer.save(path)
            states.append(json.loads(path.read_text()))
    return states


def use_save(content, _):
    """Load a file, ask, tell, and save it again."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.json"
        path.write_bytes(content)
        optimizer = at.Optimizer.load(path)
        n_trials = len(optimizer.trials)
        works(optimizer.tell, works(optimizer.ask), 0.5)
        works(optimizer.save, path)
        assert len(works(at.Optimizer.load, path).trials) == n_trials + 1


# ------------------------------------------------------------------ spaces


def space_forms():
    """The forms of spaces."""
    return [state["space"] for state in saved_states()]


def use_space(content, form):
    """Build a space, and ask and tell three times."""
    if form is None:
        try:
            form = json.loads(content)
        except ValueError:
            return
    space = at.Space.from_dict(form)
    assert works(at.Space.from_dict, space.to_dict()) == space
    optimizer = works(at.Optimizer, space, seed=0, n_initial=1)
    for value in (0.5, 0.2, 0.7):
        works(optimizer.tell, works(optimizer.ask), value)


class NotWorkingError(Exception):
    """Something that was accepted does not work."""


def works(function, *arguments, **options):
    """The result of a call that must not raise, not even a documented exception."""
    try:
        return function(*arguments, **options)
    except at.AddTreeError as error:
        raise NotWorkingError(f"{getattr(function, '__name__', function)}: {error!r}") from error


TARGETS = {
    "save": Target(saved_states, use_save, at.SaveFileError),
    "space": Target(space_forms, use_space, at.SpaceError),
}
