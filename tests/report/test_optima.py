"""The belief about the best value of every option: minima of draws, probabilities, words."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import addtree as at
from addtree.model.observations import Observations
from addtree.model.specification import Specification
from addtree.report import Limits, Record
from addtree.report.model import fit_surrogate
from addtree.report.optima import ChoiceOptima, OptimumSearch, _descend, best_values, choice_optima
from addtree.search.candidates import Observed
from addtree.search.pathwise import SamplePaths
from tests.report.cases import evaluated, smooth
from tests.strategies import spaces

TWO = at.Space(m=at.Choice(a=at.Space(x=at.Real(0, 1)), b=at.Space(y=at.Real(0, 1))))
NESTED = at.Space(
    m=at.Choice(good=at.Space(x=at.Real(0, 1)), bad=at.Space(c=at.Choice(low=at.Space(), high=at.Space())))
)
SEARCH = OptimumSearch(draws=64, candidates=200)


def nested(config: dict[str, Any]) -> float:
    return config["x"] ** 2 if config["m"] == "good" else 5.0 + 2.0 * (config["c"] == "high")


def by_option(choice: ChoiceOptima) -> dict[Any, Any]:
    return {option.option: option for option in choice.options}


@settings(max_examples=12, deadline=None)
@given(spaces())
def test_probabilities_add_up_to_one_in_every_choice(space: at.Space) -> None:
    trials = evaluated(space, smooth, 8)
    found = choice_optima(space, trials, search=OptimumSearch(draws=16, candidates=60))
    choices = [n for n, domain in space.variables.items() if isinstance(domain, at.Choice) and len(domain.labels) > 1]
    assert [choice.choice for choice in found] == choices
    for choice in found:
        assert math.fsum(option.probability for option in choice.options) == pytest.approx(1.0)
        for option in choice.options:
            assert option.low <= option.median <= option.high
            assert (option.best is None) == (option.evaluations == 0)


def test_an_obviously_better_option_contains_the_optimum() -> None:
    trials = evaluated(TWO, lambda c: c["x"] ** 2 if "x" in c else 5.0 + c["y"], 30)
    (choice,) = choice_optima(TWO, trials, search=SEARCH)
    options = by_option(choice)
    assert options["a"].probability > 0.97
    assert options["a"].median == pytest.approx(0.0, abs=0.05)
    assert options["b"].median == pytest.approx(5.0, abs=0.3)
    assert options["b"].verdict.startswith("Yes")


# b is 36 (y - 0.8)², seen on one side; (log10 C - 1)² with C = 1e-3 .. 1e3, seen on both sides; and bad everywhere.
@pytest.mark.parametrize(
    ("function", "seen", "may_be_dropped"),
    [
        (lambda y: 36.0 * (y - 0.8) ** 2, np.linspace(0.0, 0.5, 8), False),
        (lambda y: (6.0 * y - 4.0) ** 2, np.array([0.0, 0.1, 0.2, 0.3, 0.45, 0.9, 0.97, 1.0]), False),
        (lambda y: 5.0 + y, np.linspace(0.0, 1.0, 8), True),
        (lambda y: 1e10, np.linspace(0.0, 1.0, 8), True),
    ],
)
def test_a_branch_is_not_flat_because_another_converged(function: Any, seen: Any, may_be_dropped: bool) -> None:
    near = [({"m": "a", "x": x}, 0.1 + 0.05 * (x - 0.3) ** 2) for x in np.linspace(0.25, 0.35, 60)]
    far = [({"m": "b", "y": y}, function(y)) for y in seen]
    trials = [Record(i, config, "done", float(value)) for i, (config, value) in enumerate(near + far)]
    (choice,) = choice_optima(TWO, trials)
    option = by_option(choice)["b"]
    assert option.verdict.startswith("Yes") == may_be_dropped
    if not may_be_dropped:
        assert option.low < 0.05  # the optimum is 0
        assert 0.2 < option.probability < 0.8  # one of the two models knows that


def test_the_best_value_of_a_bad_branch_is_known_when_another_converged() -> None:
    near = [({"m": "a", "x": x}, 0.1 + 0.05 * (x - 0.3) ** 2) for x in np.linspace(0.25, 0.35, 60)]
    far = [({"m": "b", "y": y}, 5.0 + y) for y in np.linspace(0.0, 1.0, 8)]
    trials = [Record(i, config, "done", float(value)) for i, (config, value) in enumerate(near + far)]
    option = by_option(choice_optima(TWO, trials)[0])["b"]
    assert (option.low, option.high) == pytest.approx((5.0, 5.0), abs=0.05)


def test_equal_options_are_equally_likely() -> None:
    x = np.linspace(0.02, 0.98, 10)
    configs = [{"m": "a", "x": v} for v in x] + [{"m": "b", "y": v} for v in x]
    trials = [Record(i, c, "done", math.sin(9 * c.get("x", c.get("y", 0.0)))) for i, c in enumerate(configs)]
    (choice,) = choice_optima(TWO, trials, search=replace(SEARCH, draws=256))
    assert [option.probability for option in choice.options] == pytest.approx([0.5, 0.5], abs=0.12)


def test_maximizing_the_negative_is_the_mirror_image() -> None:
    trials = evaluated(NESTED, nested, 20)
    least = choice_optima(NESTED, trials, search=SEARCH)
    negative = [replace(trial, value=-(trial.value or 0.0)) for trial in trials]
    most = choice_optima(NESTED, negative, maximize=True, search=SEARCH)
    for one, other in zip(least, most, strict=True):
        for a, b in zip(one.options, other.options, strict=True):
            assert (a.probability, a.evaluations) == (b.probability, b.evaluations)
            assert (a.best, a.median, a.low, a.high) == pytest.approx((-b.best, -b.median, -b.high, -b.low))


def test_a_nested_choice_is_judged_where_it_is_active() -> None:
    top, below = choice_optima(NESTED, evaluated(NESTED, nested, 30), search=SEARCH)
    assert (top.choice, top.condition) == ("m", "")
    assert (below.choice, below.condition) == ("c", "when m='bad'")
    assert by_option(top)["good"].probability > 0.97
    assert by_option(below)["low"].probability > 0.97  # although the optimum lies in another branch
    assert by_option(top)["bad"].median == pytest.approx(by_option(below)["low"].median)


def test_spaces_without_alternatives_have_nothing_to_show() -> None:
    for space in (at.Space(x=at.Real(0, 1)), at.Space(c=at.Choice(only=at.Space(x=at.Real(0, 1))))):
        assert choice_optima(space, evaluated(space, lambda c: c["x"], 6)) == ()


def test_untried_and_failed_options_are_shown_as_such() -> None:
    space = at.Space(x=at.Real(0, 1), m=at.Choice(tried=at.Space(), failed=at.Space(), untried=at.Space()))
    trials = [Record(i, {"x": i / 9, "m": "tried"}, "done", float(i)) for i in range(10)]
    trials += [Record(10 + i, {"x": 0.5, "m": "failed"}, "failed") for i in range(3)]
    (choice,) = choice_optima(space, trials, search=SEARCH)
    options = by_option(choice)
    assert (options["tried"].evaluations, options["tried"].best) == (10, 0.0)
    assert (options["failed"].evaluations, options["failed"].failed, options["failed"].best) == (0, 3, None)
    assert options["failed"].verdict == "Not yet: all its trials failed."
    assert options["untried"].verdict == "Not yet: it was never tried."


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_extreme_values_have_finite_optima(scale: float) -> None:
    (choice,) = choice_optima(TWO, evaluated(TWO, lambda c: scale * (1.0 + smooth(c)), 12), search=SEARCH)
    for option in choice.options:
        assert np.all(np.isfinite([option.low, option.median, option.high]))


@pytest.mark.parametrize(
    ("probability", "evaluations", "parameters", "answer"),
    [
        (0.8, 3, 1, "No: the optimum probably"),
        (0.2, 20, 1, "No: the optimum may well"),
        (0.05, 20, 1, "Only to save"),
        (0.015, 20, 1, "Only to save"),
        (0.0, 20, 1, "Yes"),
        (0.0, 4, 1, "Not yet"),
        (0.0, 5, 0, "Yes"),
        (0.0, 23, 8, "Not yet"),
        (0.0, 24, 8, "Yes"),
    ],
)
def test_may_i_drop_this_branch(probability: float, evaluations: int, parameters: int, answer: str) -> None:
    (choice,) = choice_optima(TWO, evaluated(TWO, smooth, 8), search=SEARCH)
    changes = {"probability": probability, "evaluations": evaluations, "parameters": parameters}
    assert replace(choice.options[0], **changes).verdict.startswith(answer)


# ---------------------------------------------------------------------- minima of draws


def minima(
    space: at.Space, rows: np.ndarray, search: OptimumSearch, function: Any = smooth
) -> tuple[np.ndarray, np.ndarray]:
    """The minima of draws inside each node (S x N), and the least values of the same draws at these rows."""
    encoding, trials = space.encoding, evaluated(space, function, 12)
    X, y = encoding.encode([trial.config for trial in trials]), np.array([trial.value for trial in trials])
    observed = Observed(encoding, X, y, set())
    specification = Specification(transform=search.transform)
    surrogate = fit_surrogate(encoding, Observations.exact(X, y), specification, Limits(), np.random.default_rng(0))
    found = best_values([surrogate], observed, search, np.random.default_rng(1))
    paths = SamplePaths(surrogate.posterior, search.draws, np.random.default_rng(1), freedom=search.freedom)
    draws = paths.values(surrogate.kernel.rows(rows))
    least = [draws[encoding.inside(rows, node)].min(axis=0) for node in range(len(space.nodes))]
    return found, surrogate.transform.inverse(np.array(least).T)


def test_a_small_space_is_searched_whole() -> None:
    inner = at.Choice(p=at.Space(k=at.Integer(1, 4)), q=at.Space(u=at.Categorical(["u", "v"])))
    space = at.Space(
        n=at.Integer(0, 15), v=at.Categorical(["r", "s", "t"]), m=at.Choice(a=at.Space(c=inner), b=at.Space())
    )
    every = space.encoding.enumerate()
    assert len(every) == space.n_configs == 336
    found, brute_force = minima(space, every, replace(SEARCH, candidates=400))
    assert found == pytest.approx(brute_force)


def test_descents_find_the_minima_between_candidates() -> None:
    def wave(config: dict[str, Any]) -> float:  # its minima lie inside
        return math.sin(9.0 * config.get("x", config.get("y", 0.0)))

    grid = np.linspace(0.0, 1.0, 2000)
    rows = TWO.encoding.encode([{"m": "a", "x": v} for v in grid] + [{"m": "b", "y": v} for v in grid])
    found, brute_force = minima(TWO, rows, replace(SEARCH, candidates=60), wave)
    rough, _ = minima(TWO, rows, replace(SEARCH, candidates=60, steps=0), wave)
    scale = np.std(brute_force)
    assert np.quantile(found - brute_force, 0.95) < 1e-4 * scale  # nearly always the minimum of the grid, or lower
    assert np.mean(rough - brute_force) > 1e-3 * scale
    assert np.all(found <= rough)


def test_draws_are_divided_among_models() -> None:
    encoding, trials = TWO.encoding, evaluated(TWO, smooth, 12)
    X, y = encoding.encode([trial.config for trial in trials]), np.array([trial.value for trial in trials])
    observed, rng = Observed(encoding, X, y, set()), np.random.default_rng(0)
    specification = Specification(transform=SEARCH.transform)
    data = [Observations.exact(X, c + y) for c in (0.0, 10.0)]
    models = [fit_surrogate(encoding, part, specification, Limits(), rng) for part in data]
    best = best_values(models, observed, replace(SEARCH, draws=9), rng)
    assert best.shape == (9, 3)
    assert np.array_equal(best[:, 0] > 5.0, np.arange(9) >= 5)


def test_the_work_is_bounded() -> None:
    rows = TWO.encoding.encode([{"m": "a", "x": 0.5}, {"m": "b", "y": 0.5}])
    bounded, _ = minima(TWO, rows, replace(SEARCH, candidates=60, work=1))
    rough, _ = minima(TWO, rows, replace(SEARCH, candidates=60, steps=0))
    assert np.array_equal(bounded, rough)


@pytest.mark.parametrize(("domain", "more"), [(at.Real(0, 1), 0), (at.Real(0, 1, step=0.1), 1)])
def test_ends_of_descents_are_evaluated_again_only_if_they_are_snapped(domain: at.Real, more: int) -> None:
    space = at.Space(m=at.Choice(a=at.Space(x=domain), b=at.Space()))
    encoding, trials, n_calls = space.encoding, evaluated(space, smooth, 12), 0

    class CountedPaths(SamplePaths):
        def functions(self, X: Any, draw: Any) -> Any:
            function = super().functions(X, draw)

            def counted(X: Any) -> Any:
                nonlocal n_calls
                n_calls += 1
                return function(X)

            return counted

    X, y = encoding.encode([trial.config for trial in trials]), np.array([trial.value for trial in trials])
    rng, data = np.random.default_rng(0), Observations.exact(X, y)
    surrogate = fit_surrogate(encoding, data, Specification(transform=SEARCH.transform), Limits(), rng)
    paths = CountedPaths(surrogate.posterior, SEARCH.draws, rng)
    starts = np.repeat(encoding.encode([{"m": "a", "x": 0.5}]), SEARCH.draws, axis=0)
    ((end, draw, value),) = _descend(paths, encoding, starts, replace(SEARCH, steps=3))
    assert n_calls == 1 + 3 + more
    assert value == pytest.approx(paths.values(surrogate.kernel.rows(end))[np.arange(len(draw)), draw])
