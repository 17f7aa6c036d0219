"""GPyOpt behind its pipe: the flat domain, what is read out of a flat point, and what is said when it is not there."""

import sys

import pytest

import addtree as at
from addtree.paper import gpyopt
from addtree.paper.gpyopt import GPyOpt, GPyOptError, active, installed
from addtree.paper.methods import GPYOPT_PYTHON, METHODS
from addtree.paper.runs import versions

SPACE = at.Space(
    a=at.Choice(p=at.Space(x=at.Real(-1, 1)), q=at.Space(k=at.Integer(3, 5), c=at.Categorical(["u", "v"]))),
    y=at.Real(0, 2),
)


def test_the_domain_is_flat():
    assert {d["name"]: (d["type"], d["domain"]) for d in gpyopt._domain(SPACE)} == {
        "a": ("categorical", [0, 1]),
        "x": ("continuous", [-1, 1]),
        "k": ("discrete", [3, 4, 5]),
        "c": ("categorical", [0, 1]),
        "y": ("continuous", [0, 2]),
    }


def test_a_flat_point_holds_one_configuration():
    full = {"a": "q", "x": 0.5, "k": 4, "c": "v", "y": 1.0}
    assert active(SPACE, full) == {"a": "q", "k": 4, "c": "v", "y": 1.0}
    assert active(SPACE, full | {"a": "p"}) == {"a": "p", "x": 0.5, "y": 1.0}


@pytest.mark.parametrize("python", ["no-such-python", sys.executable], ids=["no Python", "no GPyOpt"])
def test_a_wrong_environment_is_said_before_anything_runs(monkeypatch, python):
    with pytest.raises(GPyOptError, match=r"docs/paper\.md"):
        installed(python)
    monkeypatch.setenv(GPYOPT_PYTHON, python)
    assert GPYOPT_PYTHON in METHODS["gpyopt"].missing()
    assert "GPyOpt" not in versions()
    monkeypatch.delenv(GPYOPT_PYTHON)
    assert GPYOPT_PYTHON in METHODS["gpyopt"].missing()


def test_a_process_that_ends_says_why():
    method = GPyOpt(SPACE, 0, python=sys.executable)  # has no GPyOpt
    for k in range(gpyopt.INITIAL):
        method.tell(SPACE.validate(method.ask()), float(k))
    with pytest.raises(GPyOptError, match="No module named 'GPy"):
        method.ask()
