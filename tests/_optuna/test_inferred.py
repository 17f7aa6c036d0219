"""The space that trials show, and the translation of trials to it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial, TrialState

from addtree import Choice, Integer, Real, Space
from addtree._optuna.inferred import Inferred
from addtree.errors import ConfigError, SpaceError

UNIT = FloatDistribution(0, 1)
ON_OFF = list(enumerate(["on", "off", "on", "off", "on"]))


def trial(params: Mapping[str, Any], distributions: Mapping[str, BaseDistribution], **settings: Any) -> FrozenTrial:
    """A finished trial; a parameter without a distribution is a float in the unit interval."""
    known = {name: distributions.get(name, UNIT) for name in params}
    return optuna.create_trial(params=dict(params), distributions=known, **{"value": 0.0, **settings})


def test_an_unobserved_number_of_layers_opens_what_the_nearest_one_opens() -> None:
    def layers(n: int) -> FrozenTrial:
        return trial({"n": n, **{f"units_{i}": 0.5 for i in range(n)}}, {"n": IntDistribution(1, 6)})

    units = Space({f"units_{i}": Real(0, 1) for i in range(1, 5)})
    space = Inferred([layers(1), layers(5)]).space
    assert space == Space(n=Integer(1, 6, opens={(4, 6): units}), units_0=Real(0, 1))


def momentum(lr: float) -> FrozenTrial:
    """A parameter that depends on a continuous one."""
    return trial({"lr": lr, **({"momentum": 0.9} if lr > 0.5 else {})}, {})


def test_a_real_number_opens_parameters_once_there_is_evidence() -> None:
    inferred = Inferred([momentum((7 * i % 20) / 20) for i in range(20)])
    lr = inferred.space.variables["lr"]
    assert isinstance(lr, Real)
    ((low, high),) = lr.opens
    assert 0.5 < low < 0.55
    assert high == 1
    assert inferred.fits(momentum(0.3))
    assert inferred.fits(momentum(0.7))


def test_a_parameter_that_no_gate_explains_is_filled_in() -> None:
    """There are too few trials to see that it depends on a continuous one."""
    inferred = Inferred([momentum(lr) for lr in (0.1, 0.4, 0.6, 0.9)])
    assert inferred.config({"lr": 0.1}, complete=True) == {"lr": 0.1, "momentum": 0.5}
    assert inferred.config({"lr": 0.9, "momentum": 0.2}, complete=True) == {"lr": 0.9, "momentum": 0.2}


def test_categories_of_any_type_and_single_values() -> None:
    anything = CategoricalDistribution([None, True, 1.5, "x"])
    distributions = {"a": anything, "b": FloatDistribution(2.0, 2.0)}
    inferred = Inferred([trial({"a": value, "b": 2.0}, distributions) for value in anything.choices])
    assert list(inferred.space.variables) == ["a"]
    for value in anything.choices:
        assert inferred.params(inferred.config({"a": value, "b": 2.0}, complete=True)) == {"a": value}


MODEL = CategoricalDistribution(["svm", "tree"])
SVM, TREE = trial({"model": "svm", "C": 0.5}, {"model": MODEL}), trial({"model": "tree"}, {"model": MODEL})


def test_a_trial_that_ended_early_must_have_every_choice() -> None:
    inferred = Inferred([SVM, TREE])
    assert inferred.config({}, complete=True) == {"model": 0, "C": 0.5}
    with pytest.raises(ConfigError, match="'model' is missing"):
        inferred.config({"C": 0.5}, complete=False)


def test_which_trials_fit_an_inferred_space() -> None:
    inferred = Inferred([SVM, TREE])
    failed = {"state": TrialState.FAIL, "value": None}
    assert inferred.fits(SVM)
    assert inferred.fits(trial({"model": "svm"}, {"model": MODEL}, **failed))  # It ended before it asked for C.
    assert not inferred.fits(trial({"model": "svm"}, {"model": MODEL}))
    assert not inferred.fits(trial({"model": "tree", "C": 0.5}, {"model": MODEL}))
    assert not inferred.fits(trial({"model": "svm", "C": 0.5}, {"model": MODEL, "C": FloatDistribution(0, 2)}))
    assert not inferred.fits(trial({"model": "svm", "C": 0.5, "new": 0.5}, {"model": MODEL}))


def suggestions(inferred: Inferred, n: int = 50) -> list[dict[str, Any]]:
    """Random configurations that the present code can ask for, in Optuna's values."""
    rng = np.random.default_rng(0)
    restriction = inferred.restricted(None)
    assert restriction is not None
    rows = restriction.conform(inferred.space.encoding.sample(n, rng), rng)
    return [inferred.params(inferred.space.encoding.decode(row)) for row in rows]


def test_a_number_that_opens_parameters_may_be_narrowed() -> None:
    """The space has the earlier numbers of layers, up to twice the present width. Suggestions have the present ones."""

    def layers(n: int, high: int) -> FrozenTrial:
        return trial({"n": n, **{f"u{i}": 0.1 * i for i in range(n)}}, {"n": IntDistribution(1, high)})

    inferred = Inferred([*(layers(n, 4) for n in (1, 2, 3, 4)), *(layers(n, 2) for n in (1, 2) * 3)])
    u1, u2 = Space(u1=Real(0, 1)), Space(u2=Real(0, 1))
    assert inferred.readable_space == Space(n=Integer(1, 3, opens={(2, 3): u1, (3, 3): u2}), u0=Real(0, 1))
    assert inferred.config(layers(3, 4).params, complete=True) == layers(3, 4).params
    assert inferred.config(layers(4, 4).params, complete=True) == {**layers(3, 4).params, "n": 3}
    assert {params["n"] for params in suggestions(inferred)} == {1, 2}
    with pytest.raises(ConfigError, match="'n': 'text' is not a value of IntDistribution"):
        inferred.config({"n": "text"}, complete=True)
    with pytest.raises(ConfigError, match="'n' is missing"):
        inferred.config({"u0": 0.5}, complete=False)


@pytest.mark.parametrize("opens", [True, False])
def test_a_removed_option_keeps_its_trials_but_is_not_suggested(opens: bool) -> None:
    three, two = CategoricalDistribution(["a", "b", "c"]), CategoricalDistribution(["b", "a"])

    def model(label: str, distribution: CategoricalDistribution) -> FrozenTrial:
        return trial({"m": label, "x": 0.1, **({label: 0.5} if opens else {})}, {"m": distribution})

    inferred = Inferred([*(model(m, three) for m in "abc" * 2), *(model(m, two) for m in "ab" * 3)])
    for label in "abc":
        params = model(label, three).params
        assert inferred.params(inferred.config(params, complete=True)) == params
    assert {params["m"] for params in suggestions(inferred)} == {"a", "b"}
    assert inferred.distributions["m"] == two
    assert inferred.fits(model("a", two))
    assert not inferred.fits(model("a", three))


def test_a_removed_parameter_has_one_value_in_suggestions() -> None:
    old = [trial({"x": 0.1 * i, "old": 0.1 * i}, {}) for i in range(5)]
    inferred = Inferred([*old, *(trial({"x": 0.1 * i}, {}) for i in range(5))])
    assert {params["old"] for params in suggestions(inferred)} == {0.5}
    assert inferred.config({"x": 0.3, "old": 0.2}, complete=True) == {"x": 0.3, "old": 0.2}
    assert inferred.config({"x": 0.3}, complete=True) == {"x": 0.3, "old": 0.5}
    assert inferred.fits(trial({"x": 0.3}, {}))
    assert not inferred.fits(trial({"x": 0.3, "old": 0.5}, {}))  # It was not removed.


def test_what_a_removed_parameter_opens_is_removed_with_it() -> None:
    gate = {"gate": CategoricalDistribution(["on", "off"])}
    old = [trial({"gate": label, **({"y": 0.1 * i} if label == "on" else {})}, gate) for i, label in ON_OFF]
    inferred = Inferred([*old, *(trial({"x": 0.1 * i}, {}) for i in range(5))])
    found = suggestions(inferred)
    assert {(params["gate"], params["y"]) for params in found} == {("on", 0.5)}
    assert inferred.optional == {"gate", "y"}
    assert inferred.fits(trial({"x": 0.3}, {}))


@pytest.mark.parametrize(
    "wrong", [{"model": "unknown"}, {"model": "svm", "k": "text"}, {"model": "svm", "k": float("nan")}]
)
def test_a_value_of_another_kind_is_not_a_configuration(wrong: dict[str, Any]) -> None:
    distributions = {"model": MODEL, "k": IntDistribution(0, 8, step=2)}
    inferred = Inferred([trial({"model": model, "k": 2}, distributions) for model in MODEL.choices])
    with pytest.raises(ConfigError, match=f"'{list(wrong)[-1]}': .* is not a value of"):
        inferred.config(wrong, complete=True)


# ---------------------------------------------------------------------- ranges that differ between trials


def trials_with(name: str, ranges: list[tuple[BaseDistribution, Any]], **others: Any) -> list[FrozenTrial]:
    """One trial per range and value of a parameter."""
    return [trial({**others, name: value}, {name: distribution}) for distribution, value in ranges]


def test_a_dynamic_range_is_modelled_by_positions() -> None:
    ranges = [(FloatDistribution(0, n), n / 4) for n in (2, 4, 2, 6)]
    inferred = Inferred(trials_with("x", ranges))
    assert inferred.dynamic == {"x"}
    assert "x" not in inferred.distributions
    for distribution, value in ranges:
        config = inferred.config({"x": value}, complete=True, ranges={"x": distribution})
        assert config == {"x": 0.25}
        assert inferred.params(config) == {"x": {"position": 0.25}}
    assert inferred.config(inferred.params({"x": 0.7}), complete=True) == {"x": 0.7}
    with pytest.raises(ConfigError, match=r"'x': the range of 0\.5 depends on other parameters"):
        inferred.config({"x": 0.5}, complete=True)
    assert inferred.values({"x": 0.5}) == {}
    assert inferred.fits(trial({"x": 70.0}, {"x": FloatDistribution(0, 99)}))


def test_a_dynamic_number_that_opens_parameters_keeps_its_values() -> None:
    def layers(most: int, n: int) -> FrozenTrial:
        params = {"most": most, "n": n, **{f"u{i}": 0.5 for i in range(n)}}
        return trial(params, {"most": IntDistribution(1, 4), "n": IntDistribution(1, most)})

    trials = [layers(most, n) for most in (1, 4, 2, 4, 3, 4, 4) for n in range(1, most + 1)]
    inferred = Inferred(trials)
    assert inferred.dynamic == frozenset()
    assert inferred.distributions["n"] == IntDistribution(1, 4)
    assert all(inferred.fits(trial) for trial in trials)


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (FloatDistribution(0, 10), FloatDistribution(0, 5)),
        (FloatDistribution(0.1, 10), FloatDistribution(0.1, 5, log=True)),
        (IntDistribution(1, 10), IntDistribution(1, 5)),
        (IntDistribution(0, 10, step=2), IntDistribution(1, 5, step=2)),
        (FloatDistribution(0, 10, step=0.5), FloatDistribution(0, 5, step=0.5)),
    ],
)
def test_values_outside_of_a_narrowed_range_stay_where_they_are(
    before: BaseDistribution, now: BaseDistribution
) -> None:
    """They are not suggested. A value off the present grid counts as the next one."""
    inferred = Inferred(trials_with("x", [(before, 8)] * 3 + [(now, 3)] * 5))
    assert inferred.dynamic == frozenset()
    assert inferred.distributions["x"] == now
    assert inferred.params(inferred.config({"x": 8}, complete=True)) == {"x": pytest.approx(8, abs=1)}
    assert inferred.params(inferred.config({"x": 3}, complete=True)) == {"x": 3}
    assert all(now._contains(now.to_internal_repr(params["x"])) for params in suggestions(inferred))
    assert inferred.fits(trials_with("x", [(now, 1)])[0])
    assert not inferred.fits(trials_with("x", [(before, 8)])[0])


def test_a_value_far_outside_counts_at_a_distance_of_the_width_of_the_range() -> None:
    inferred = Inferred(trials_with("x", [(FloatDistribution(0, 100), 90.0), *[(FloatDistribution(2, 4), 3.0)] * 5]))
    assert inferred.config({"x": 90.0}, complete=True) == {"x": 6.0}


def test_a_real_number_counts_as_the_nearest_whole_number_once_the_code_asks_for_those() -> None:
    old = [trial({"n": value}, {"n": FloatDistribution(1, 10)}) for value in (1.2, 3.8)]
    inferred = Inferred([*old, trial({"n": 5}, {"n": IntDistribution(1, 10)})])
    assert [inferred.config(one.params, complete=True) for one in old] == [{"n": 1}, {"n": 4}]


def test_a_widened_range_keeps_the_values_and_an_added_option_its_place() -> None:
    wide = Inferred(trials_with("x", [(FloatDistribution(0, 1), 0.5), (FloatDistribution(0, 10), 5.0)]))
    assert wide.config({"x": 0.5}, complete=True) == {"x": 0.5}
    two, three = CategoricalDistribution(["a", "b"]), CategoricalDistribution(["new", "a", "b"])
    grown = Inferred(trials_with("c", [(two, "b"), (three, "new"), (three, "a")]))
    assert [grown.params(grown.config({"c": label}, complete=True)) for label in "ab"] == [{"c": "a"}, {"c": "b"}]


def test_a_stepped_range_that_moves_has_another_meaning() -> None:
    before, now = IntDistribution(0, 8, step=2), IntDistribution(10, 18, step=2)
    old, new = Inferred(trials_with("x", [(before, 2)])), Inferred(trials_with("x", [(before, 2), (now, 12)]))
    assert old.means_the_same(old)
    assert not new.means_the_same(old)
    far = Inferred(trials_with("x", [(IntDistribution(100, 108, step=2), 102)]))
    assert old.space == far.space
    assert not far.means_the_same(old)


def test_a_parameter_that_was_added_belongs_to_its_option_nevertheless() -> None:
    old = [trial({"model": model}, {"model": MODEL}) for model in ("svm", "tree") * 5]
    new = [
        trial({"model": model, **({"C": 0.5} if model == "svm" else {})}, {"model": MODEL})
        for model in ("svm", "tree") * 3
    ]
    for trials in (old + new, new + old):  # added, removed
        choice = Inferred(trials).space.variables["model"]
        assert isinstance(choice, Choice)
        assert [set(option.children) for option in choice.spaces] == [{"C"}, set()]


def test_a_parameter_that_nothing_explains_fits_present_or_absent() -> None:
    inferred = Inferred([momentum(lr) for lr in (0.1, 0.4, 0.6, 0.9, 0.2)])
    assert inferred.fits(momentum(0.3))
    assert inferred.fits(momentum(0.7))


def test_a_parameter_that_two_gates_open_at_once_fits_present_or_absent() -> None:
    def either(a: str, n: int) -> FrozenTrial:
        z = {"z": 0.3} if a == "w" or n == 5 else {}
        return trial({"a": a, "n": n, **z}, {"a": CategoricalDistribution("uvw"), "n": IntDistribution(1, 6)})

    seen = [either(a, n) for a in "uvw" for n in range(1, 7)]
    inferred = Inferred(seen)
    assert inferred.optional == {"z"}
    assert all(map(inferred.fits, seen))


def test_what_an_unexplained_parameter_opens_is_missing_only_with_it() -> None:
    def nested(a: bool, b: bool, gate: str, **further: float) -> FrozenTrial:
        opened = {"gate": gate, **further} if a and b else {}
        labels = {"a": CategoricalDistribution([True, False]), "b": CategoricalDistribution([True, False])}
        return trial({"a": a, "b": b, **opened}, {**labels, "gate": CategoricalDistribution(["on", "off"])})

    seen = [
        nested(a, b, gate, **({"y": 0.1} if gate == "on" else {}))
        for a, b, gate in product([True, False], [True, False], ["on", "off"])
    ]
    inferred = Inferred([*seen, *seen])
    assert inferred.optional == {"gate", "y"}
    assert all(map(inferred.fits, seen))
    assert not inferred.fits(nested(True, True, "on"))
    assert not inferred.fits(nested(True, True, "off", y=0.1))


def test_the_readable_space_has_the_values_of_the_code() -> None:
    grid = IntDistribution(10, 50, step=10)
    ranges = [FloatDistribution(0, n) for n in (2, 4, 2, 6)]
    trials = [
        trial(
            {"model": model, "k": 20, "x": 1.0, **({"C": 0.5} if model == "svm" else {})},
            {"model": MODEL, "k": grid, "x": d},
        )
        for model, d in zip(("svm", "tree") * 2, ranges, strict=True)
    ]
    inferred = Inferred(trials)
    assert inferred.readable_space == Space(
        model=Choice(svm=Space(C=Real(0, 1)), tree=Space()), k=Integer(10, 50, step=10), x=Real(0, 6)
    )
    assert [inferred.readable_config(trial) for trial in trials] == [trial.params for trial in trials]


@pytest.mark.filterwarnings("ignore:Choices for a categorical distribution")
@pytest.mark.parametrize("opens", [False, True])
def test_a_category_that_a_space_cannot_have_is_named(opens: bool) -> None:
    sizes = CategoricalDistribution([[1, 2], [3]])  # type: ignore[list-item]
    below = {"x": 0.5} if opens else {}
    trials = [trial({"size": [1, 2]}, {"size": sizes}), trial({"size": [3], **below}, {"size": sizes})] * 4
    with pytest.raises(SpaceError, match=r"^parameter 'size': .*\[1, 2\] is not hashable"):
        Inferred(trials).readable_space  # noqa: B018


def test_the_readable_space_has_the_values_of_a_grid_that_opens_parameters() -> None:
    grid = IntDistribution(10, 50, step=10)
    trials = [trial({"k": k, **({"x": 0.5} if k >= 30 else {})}, {"k": grid}) for k in range(10, 60, 10)]
    inferred = Inferred(trials)
    assert inferred.space == Space(k=Integer(0, 4, opens={(2, 4): Space(x=Real(0, 1))}))
    assert inferred.readable_space == Space(k=Integer(10, 50, step=10, opens={(30, 50): Space(x=Real(0, 1))}))
    assert [inferred.readable_config(trial) for trial in trials] == [trial.params for trial in trials]
