"""Hyperopt's adapter: shared names are one variable, and integers keep their probability at the ends."""

import numpy as np
import pytest

import addtree as at
from addtree.paper.baselines import hyperopt as adapter

pytest.importorskip("hyperopt", reason="Hyperopt comes with the extra paper or bench")

SPACE = at.Space(
    c=at.Choice(
        p=at.Space(g=at.Real(1e-3, 1, log=True), k=at.Integer(1, 40, log=True)),
        q=at.Space(g=at.Real(1e-3, 1, log=True), m=at.Categorical(["u", "v"])),
        r=at.Space(),
    )
)


def test_a_shared_name_is_one_variable_that_learns_from_every_option():
    method, seen = adapter.Hyperopt(SPACE, 0), set()
    for _ in range(30):  # 20 random trials, then the estimator
        config = SPACE.validate(method.ask())
        seen.add(config["c"])
        method.tell(config, config.get("g", 1.0))
    assert seen == {"p", "q", "r"}
    assert set(method._trials.vals) == {"c", "g", "k", "m"}
    with_g = [trial for trial in method._trials.trials if trial["misc"]["vals"]["g"]]
    assert {trial["misc"]["vals"]["c"][0] for trial in with_g} == {0, 1}


@pytest.mark.parametrize(
    ("integer", "shares"),
    [
        (at.Integer(0, 2), [1 / 3, 1 / 3, 1 / 3]),
        (at.Integer(1, 3, log=True), np.diff(np.log([0.51, 1.5, 2.5, 3.49])) / np.log(3.49 / 0.51)),
    ],
    ids=["linear", "log"],
)
def test_every_integer_has_its_whole_interval(integer, shares):
    from hyperopt.pyll.stochastic import sample

    variable, rng = adapter._variable("k", integer), np.random.default_rng(0)
    drawn = np.array([int(sample(variable, rng)) for _ in range(3000)])
    assert set(drawn) == set(range(integer.low, integer.high + 1))
    found = [np.mean(drawn == value) for value in range(integer.low, integer.high + 1)]
    np.testing.assert_allclose(found, shares, atol=0.03)
