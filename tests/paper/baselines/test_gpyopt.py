"""GPyOpt over its pipe: the flat domain, random locations, and the messages if GPyOpt is missing."""

import sys

import numpy as np
import pytest

import addtree as at
from addtree.errors import BaselineError
from addtree.paper.baselines import gpyopt
from addtree.paper.baselines.flat import flattened
from addtree.paper.baselines.gpyopt import GPyOpt, installed
from addtree.paper.methods import GPYOPT_PYTHON, METHODS
from addtree.paper.runs import versions

SPACE = at.Space(
    a=at.Choice(p=at.Space(x=at.Real(-1, 1)), q=at.Space(k=at.Integer(3, 5), c=at.Categorical(["u", "v"]))),
    y=at.Real(0, 2),
)


def test_the_domain_is_flat():
    assert {d["name"]: (d["type"], d["domain"]) for d in gpyopt.gpyopt_domain(flattened(SPACE))} == {
        "a": ("categorical", [0, 1]),
        "x": ("continuous", [-1, 1]),
        "k": ("discrete", [3, 4, 5]),
        "c": ("categorical", [0, 1]),
        "y": ("continuous", [0, 2]),
    }


def test_random_locations_lie_in_the_domain():
    flat, rng = flattened(SPACE), np.random.default_rng(0)
    locations = np.array([gpyopt._random_location(flat, rng) for _ in range(60)])
    for domain, column in zip(gpyopt.gpyopt_domain(flat), locations.T, strict=True):
        if domain["type"] == "continuous":
            assert (column >= domain["domain"][0]).all()
            assert (column <= domain["domain"][1]).all()
        else:
            assert set(column) == set(domain["domain"])


@pytest.mark.parametrize("python", ["no-such-python", sys.executable], ids=["no Python", "no GPyOpt"])
def test_a_wrong_environment_is_reported_before_anything_runs(monkeypatch, python):
    with pytest.raises(BaselineError, match=r"docs/paper\.md"):
        installed(python)
    monkeypatch.setenv(GPYOPT_PYTHON, python)
    assert GPYOPT_PYTHON in METHODS["gpyopt"].missing()
    assert "GPyOpt" not in versions()
    monkeypatch.delenv(GPYOPT_PYTHON)
    assert GPYOPT_PYTHON in METHODS["gpyopt"].missing()


def test_a_process_that_ends_gives_its_reason():
    method = GPyOpt(SPACE, 0, python=sys.executable)  # this Python has no GPyOpt
    for k in range(gpyopt.INITIAL):
        method.tell(SPACE.validate(method.ask()), float(k))
    with pytest.raises(BaselineError, match="No module named 'GPy"):
        method.ask()
