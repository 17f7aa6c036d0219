"""Studies: what they store, which ones are refused, and how they count."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.storages import InMemoryStorage
from optuna.trial import TrialState

from addtree import Choice, Real, Space
from addtree.errors import OptionError, StudyError
from addtree.optuna import AddTreeSampler
from addtree.run.goals import Goals
from addtree.study.studies import find_study, load_study, open_study, progress, recommended_trial, space_of
from addtree.study.task import suggest_config

SPACE = Space(x=Real(-1, 1), model=Choice(a=Space(), b=Space(y=Real(0, 1))))


MAXIMIZED = Goals.read(None, None, maximize=True)


def noisy(noise: Any) -> Goals:
    return Goals.read(None, None, noise=noise)


def suggestions(study: optuna.Study, n: int = 3) -> list[float]:
    return [study.ask().suggest_float("x", -1, 1) for _ in range(n)]


def test_a_study_keeps_its_space() -> None:
    storage = InMemoryStorage()
    open_study(storage, "declared", SPACE)
    open_study(storage, "by-run", None)
    optuna.create_study(storage=storage, study_name="foreign")
    assert space_of(load_study(storage, "declared")) == SPACE
    assert space_of(load_study(storage, "by-run")) is None
    assert space_of(load_study(storage, "foreign")) is None


def test_a_study_keeps_the_order_that_it_was_created_with() -> None:
    reordered = Space(model=Choice(b=Space(y=Real(0, 1)), a=Space()), x=Real(-1, 1))
    assert reordered == SPACE
    storage = InMemoryStorage()
    open_study(storage, "s", SPACE)
    sampler = open_study(storage, "s", reordered).sampler
    assert repr(sampler._settings.space) == repr(SPACE) != repr(reordered)


def test_a_study_keeps_its_seed() -> None:
    first = suggestions(open_study(InMemoryStorage(), "s", SPACE, seed=7))
    storage = InMemoryStorage()
    open_study(storage, "s", SPACE, seed=7)
    assert suggestions(open_study(storage, "s", SPACE)) == first
    storage = InMemoryStorage()
    open_study(storage, "s", SPACE, seed=7)
    assert suggestions(load_study(storage, "s")) == first


def test_another_space_or_direction_is_refused() -> None:
    storage = InMemoryStorage()
    open_study(storage, "s", SPACE)
    with pytest.raises(StudyError, match="belongs to another space") as caught:
        open_study(storage, "s", Space(x=Real(-2, 1)))
    assert "the study has x: real [-1, 1] | model | 'a' and 2 more lines, the file has x: real [-2, 1];" in str(
        caught.value
    )
    assert "\n" not in str(caught.value)
    with pytest.raises(StudyError, match=r"belongs to another space: .*, the file has define-by-run;"):
        open_study(storage, "s", None)
    with pytest.raises(StudyError, match="looks for the smallest value; leave out --maximize"):
        open_study(storage, "s", SPACE, goals=MAXIMIZED)
    open_study(storage, "large", SPACE, goals=MAXIMIZED)
    with pytest.raises(StudyError, match="looks for the largest value; add --maximize"):
        open_study(storage, "large", SPACE)


def test_a_study_that_addtree_did_not_make_is_refused_unless_it_is_define_by_run() -> None:
    storage = InMemoryStorage()
    foreign = optuna.create_study(storage=storage, study_name="foreign")
    foreign.add_trial(optuna.create_trial(value=1.0))
    with pytest.raises(StudyError, match="was not made by addtree"):
        open_study(storage, "foreign", SPACE)
    assert len(open_study(storage, "foreign", None).trials) == 1


def test_the_name_may_be_left_out_if_there_is_one_study() -> None:
    storage = InMemoryStorage()
    with pytest.raises(StudyError, match="name a study; the storage has none"):
        load_study(storage, None)
    open_study(storage, "only", SPACE)
    assert load_study(storage, None).study_name == "only"
    open_study(storage, "other", SPACE)
    with pytest.raises(StudyError, match="name a study; the storage has 'only', 'other'"):
        load_study(storage, None)
    with pytest.raises(StudyError, match="there is no study 'third'; the storage has 'only', 'other'"):
        load_study(storage, "third")


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_an_infinite_value_is_never_the_best(sign: float) -> None:
    direction = "minimize" if sign > 0 else "maximize"
    one, two = optuna.create_study(direction=direction), optuna.create_study(directions=[direction] * 2)
    for value in (-float("inf"), 2.0, 1.0, float("inf")):
        one.add_trial(optuna.create_trial(value=sign * value))
        two.add_trial(optuna.create_trial(values=[sign * value, 0.0]))
    best = progress(one).best
    assert best is not None
    assert best.number == 2
    assert [trial.number for trial in progress(two).front] == [2]


def test_progress_counts_every_state() -> None:
    study = open_study(InMemoryStorage(), "s", SPACE)
    assert progress(study).best is None
    states = [TrialState.PRUNED, TrialState.RUNNING, TrialState.WAITING]
    study.add_trials([optuna.create_trial(state=state) for state in states])
    study.add_trial(optuna.create_trial(state=TrialState.FAIL, system_attrs={"addtree:lost": True}))
    for error in ("old", "new"):
        study.add_trial(optuna.create_trial(state=TrialState.FAIL, user_attrs={"addtree:error": error}))
    study.add_trials([optuna.create_trial(value=value) for value in (3.0, 1.0, 2.0)])
    p = progress(study)
    assert (p.complete, p.pruned, p.failed, p.lost, p.running) == (3, 1, 2, 1, 1)
    assert p.finished == 6
    assert p.error == "new"
    assert p.best is not None
    assert p.best.value == 1.0


def test_a_study_keeps_its_initial_configurations() -> None:
    initial = [{"x": 0.5, "model": "a"}, {"x": 0.25, "model": "a"}]
    storage = InMemoryStorage()
    assert suggestions(open_study(storage, "s", SPACE, seed=7, initial=initial), 1) == [0.5]
    assert suggestions(load_study(storage, "s"), 2)[0] == 0.25
    assert suggestions(open_study(storage, "s", SPACE), 1)[0] not in (0.5, 0.25)


@pytest.mark.parametrize("seed", [-1, 0.5, "0", True])
def test_a_bad_seed_is_refused_before_anything_is_stored(seed: Any) -> None:
    storage = InMemoryStorage()
    with pytest.raises(OptionError, match="must be an integer of zero or more"):
        open_study(storage, "s", SPACE, seed=seed)
    assert optuna.get_all_study_names(storage) == []
    with pytest.raises(OptionError, match="zero or more"):
        AddTreeSampler(SPACE, seed=-1)


def test_a_refused_direction_stores_nothing() -> None:
    storage = InMemoryStorage()
    optuna.create_study(storage=storage, study_name="s", direction="maximize")
    optuna.create_study(storage=storage, study_name="several", directions=["maximize", "minimize"])
    for name, message in (("s", "largest value"), ("several", "several objectives")):
        with pytest.raises(StudyError, match=message):
            open_study(storage, name, SPACE)
        assert find_study(storage, name).user_attrs == {}


@pytest.mark.parametrize("stored", [3, "{", "[]", '{"x": 3}', "[" * 5000])
def test_a_damaged_space_says_so(stored: Any) -> None:
    storage = InMemoryStorage()
    open_study(storage, "s", SPACE, seed=0).set_user_attr("addtree:space", stored)
    for use in (lambda: open_study(storage, "s", SPACE), lambda: load_study(storage, "s")):
        with pytest.raises(StudyError, match="the stored space of study 's' is damaged"):
            use()
    assert progress(find_study(storage, "s")).finished == 0


def test_a_study_keeps_the_noise_that_was_declared_last() -> None:
    storage = InMemoryStorage()
    study = open_study(storage, "s", SPACE, goals=noisy(0.1))
    assert study.user_attrs["addtree:noise"] == 0.1
    load_study(storage, "s")
    open_study(storage, "s", SPACE)
    assert study.user_attrs["addtree:noise"] == 0.1
    load_study(storage, "s", noise=0.2)
    assert study.user_attrs["addtree:noise"] == 0.2
    open_study(storage, "s", SPACE, goals=noisy(0))
    assert study.user_attrs["addtree:noise"] == 0.0


@pytest.mark.parametrize("noise", [-1.0, float("nan"), "0.1"])
def test_bad_noise_is_refused_before_anything_is_stored(noise: Any) -> None:
    storage = InMemoryStorage()
    with pytest.raises(OptionError, match=r"noise=.* must be None"):
        open_study(storage, "s", SPACE, goals=noisy(noise))
    assert optuna.get_all_study_names(storage) == []
    study = open_study(storage, "s", SPACE)
    study.set_user_attr("addtree:noise", noise)
    for load in (load_study, lambda storage, name: open_study(storage, name, SPACE)):
        with pytest.raises(StudyError, match=r"study 's' has a bad stored noise: .* --noise SD"):
            load(storage, "s")
    load_study(storage, "s", noise=0.1)  # repairs it


def test_the_stored_noise_decides_what_is_recommended() -> None:
    """One value was lucky. Without noise it counts, with noise it does not."""
    rng = np.random.default_rng(0)
    configs = sorted((SPACE.sample(rng) for _ in range(30)), key=lambda config: -abs(config["x"]))
    recommended = {}
    for noise in (0.0, 0.5):
        storage = InMemoryStorage()
        open_study(storage, "s", SPACE, seed=0, goals=noisy(noise))
        study = load_study(storage, "s")
        for number, config in enumerate(configs):
            study.enqueue_trial(config)
            study.optimize(partial(_value, lucky=number == 0), n_trials=1)
        recommended[noise] = recommended_trial(study).number
    assert recommended[0.0] == 0 != recommended[0.5]


def _value(trial: optuna.Trial, *, lucky: bool) -> float:
    value = suggest_config(trial, SPACE)["x"] ** 2
    return -0.5 if lucky else value
