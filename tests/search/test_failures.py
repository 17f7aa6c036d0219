"""Which failures are accidents, and what a run finds despite them."""

import numpy as np
import pytest

import addtree as at
from addtree.model.specification import Specification
from addtree.model.success import SuccessModel
from addtree.search.failures import Avoidance

SPACE = at.Space(
    w=at.Real(0, 1), model=at.Choice(a=at.Space(x=at.Real(0, 1)), b=at.Space(y=at.Real(0, 1)), c=at.Space())
)
KERNEL = Specification().make_kernel(SPACE.encoding)


def outcomes(n, fails):
    """Rows, and whether each succeeded."""
    rng = np.random.default_rng(0)
    X = SPACE.encoding.sample(n, rng)
    return X, ~fails(X, rng)


@pytest.mark.parametrize("rate", [0.3, 0.5, 0.7])
def test_failures_at_random_are_accidents(rate):
    X, succeeded = outcomes(60, lambda X, rng: rng.random(len(X)) < rate)
    success, failed = SuccessModel.fit(KERNEL, X, succeeded), X[~succeeded]
    assert len(Avoidance().systematic(success, failed)) <= 0.2 * len(failed)


def test_failures_of_a_branch_are_systematic_also_if_others_are_random():
    branch = SPACE.encoding.index["model"]
    X, succeeded = outcomes(60, lambda X, rng: (X[:, branch] == 1) | (rng.random(len(X)) < 0.4))
    success, failed = SuccessModel.fit(KERNEL, X, succeeded), X[~succeeded]
    found = Avoidance().systematic(success, failed)
    inside = failed[:, branch] == 1
    assert np.sum(found[:, branch] == 1) == np.sum(inside)
    assert np.sum(found[:, branch] != 1) <= 0.2 * np.sum(~inside)


def test_the_minimum_is_found_although_evaluations_fail_at_random():
    space = at.Space(x=at.Real(0, 1), y=at.Real(0, 1))
    found = []
    for seed in range(2):
        optimizer, rng = at.Optimizer(space, seed=seed), np.random.default_rng(seed)
        for _ in range(40):
            trial = optimizer.ask()
            if rng.random() < 0.5:
                optimizer.tell(trial, failed=True)
            else:
                optimizer.tell(trial, (trial.config["x"] - 0.3) ** 2 + (trial.config["y"] - 0.7) ** 2)
        found.append(optimizer.best.value)
    assert max(found) < 1e-4
