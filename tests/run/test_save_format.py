"""`Optimizer.save` and `load`: a loaded run continues, every past version is read, what is damaged is refused."""

import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import addtree as at
from addtree.errors import OptionError, SaveFileError, TrialError
from addtree.optimizer import Optimizer, Settings
from addtree.run import save_format, save_schema
from addtree.search.policy import Policy
from addtree.trials import Evaluation
from tests.test_optimizer import PAPER, SETTINGS, SPACE, objective, run, says

SAVES = Path(__file__).parents[1] / "data" / "saves"


@pytest.mark.parametrize("version", range(1, save_format.VERSION + 1))
def test_a_file_of_every_past_version_is_read(version, tmp_path):
    optimizer = Optimizer.load(SAVES / f"version-{version}.json")
    states = [trial.state for trial in optimizer.trials]
    assert (states.count("done"), states.index("failed"), states.index("pending")) == (10, 4, 8)
    pending = optimizer.trials[8]
    config = optimizer.ask().config  # as the optimizer that was saved went on
    assert config["model"] == "b"
    if version == save_format.VERSION:
        assert config["x"] == pytest.approx(0.14432, abs=0.01)
    assert optimizer.tell(pending, 0.5).id == 8
    optimizer.save(tmp_path / "run.json")
    assert json.loads((tmp_path / "run.json").read_text())["version"] == save_format.VERSION


def test_duration_error_and_forgotten_trials_are_saved(tmp_path):
    optimizer = Optimizer(SPACE, seed=0, n_initial=3)
    trials = optimizer.ask(4)
    optimizer.tell(trials[0], 1.0, evaluation=Evaluation(0.5))
    failure = Evaluation(0.25, "ValueError: no (train.py, line 3, in f)", "Traceback ...")
    optimizer.tell(trials[1], failed=True, evaluation=failure)
    optimizer.forget(trials[3])
    optimizer.save(tmp_path / "run.json")
    loaded = Optimizer.load(tmp_path / "run.json")
    assert loaded.trials == optimizer.trials
    assert [t.evaluation for t in loaded.trials] == [Evaluation(0.5), failure, Evaluation()]
    assert loaded.ask() == optimizer.ask()
    assert loaded.trials[-1].id == 4
    with pytest.raises(TrialError, match="trial 3 was forgotten"):
        loaded.tell(3, 1.0)


def test_the_fixture_of_this_version_has_every_field():
    optimizer = Optimizer.load(SAVES / f"version-{save_format.VERSION}.json")
    failed = optimizer.trials[4]
    assert (failed.duration, failed.error) == (0.25, "ValueError: no convergence (train.py, line 3, in objective)")
    assert "no convergence" in failed.traceback
    assert len(optimizer.trials) == 12
    assert optimizer.ask().id == 13  # trial 12 was forgotten


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(SaveFileError, match=r"missing/run.json cannot be written: No such file.*; give another path"):
        Optimizer(SPACE, seed=0).save(tmp_path / "missing" / "run.json")


@pytest.mark.skipif(sys.platform == "win32", reason="a limit on the size of files needs POSIX")
def test_a_full_disk_leaves_the_old_file_and_raises_one_error(tmp_path):
    path = tmp_path / "run.json"
    optimizer = Optimizer(SPACE, seed=0)
    optimizer.save(path)
    before = path.read_text()
    code = (
        "import resource, sys; from addtree import Optimizer; optimizer = Optimizer.load(sys.argv[1]); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "try: optimizer.save(sys.argv[1])\n"
        "except OSError as error: print(type(error).__name__, error)"
    )
    shown = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True).stdout
    assert shown == f"SaveFileError {path} cannot be written: File too large; give another path\n"
    assert path.read_text() == before
    assert list(tmp_path.iterdir()) == [path]


def test_experimental_settings_are_not_saved(tmp_path):
    optimizer = Optimizer(SPACE, seed=0, settings=Settings(policy=Policy(local_turn=None)))
    with pytest.raises(OptionError, match="settings="):
        optimizer.save(tmp_path / "run.json")
    assert not list(tmp_path.iterdir())


def mixed(i, trial, optimizer):
    """Some trials done, some failed, some told late: the same for every optimizer that gives the same trials."""
    if i % 5 == 3:
        optimizer.tell(trial, failed=True)
    elif i % 4 != 2:
        optimizer.tell(trial, objective(trial.config))


@pytest.mark.parametrize("settings", [*SETTINGS[::3], PAPER, {"maximize": True, "noise": 0.0}], ids=str)
def test_save_load_and_continue_is_the_uninterrupted_run(settings, tmp_path):
    """Saved before every ask, and saved for the first time when there is a model."""
    whole, *parts = (Optimizer(SPACE, seed=5, n_initial=4, **settings) for _ in range(3))
    for i in range(10):
        mixed(i, whole.ask(), whole)
    for part, after in zip(parts, (0, 8), strict=True):
        for i in range(after):
            mixed(i, part.ask(), part)
        for i in range(after, 10):
            part.save(tmp_path / "run.json")
            part = Optimizer.load(tmp_path / "run.json")
            mixed(i, part.ask(), part)
        assert part.trials == whole.trials


def test_save_between_ask_and_tell_keeps_pending_trials(tmp_path):
    one = Optimizer(SPACE, seed=5, n_initial=4)
    run(one, 6)
    trials = one.ask(3)
    one.save(tmp_path / "run.json")
    other = Optimizer.load(tmp_path / "run.json")
    assert other.trials == one.trials
    for optimizer in (one, other):
        optimizer.tell(trials[1], 0.7)
        optimizer.tell(trials[0].id, failed=True)
    assert one.ask(2) == other.ask(2)


def test_a_refit_schedule_survives_a_reload(tmp_path):
    """Past 20 observations not every ask fits again: the fit in use is part of the state."""
    one = Optimizer(at.Space(x=at.Real(0, 1), y=at.Real(0, 1)), seed=5, n_initial=40)
    run(one, 44, lambda c: (c["x"] - 0.3) ** 2 + c["y"])
    one.save(tmp_path / "run.json")
    other = Optimizer.load(tmp_path / "run.json")
    for optimizer in (one, other):
        run(optimizer, 3, lambda c: (c["x"] - 0.3) ** 2 + c["y"])
    assert one.trials == other.trials


def test_settings_of_numpy_can_be_saved(tmp_path):
    one = Optimizer(SPACE, seed=np.int64(3), n_initial=np.int64(4), maximize=np.bool_(True), noise=np.float32(0.5))
    one.save(tmp_path / "run.json")
    assert Optimizer.load(tmp_path / "run.json").ask() == one.ask()


def test_a_save_replaces_the_last_and_leaves_nothing_else(tmp_path):
    optimizer = Optimizer(SPACE, seed=0)
    for _ in range(2):
        run(optimizer, 1)
        optimizer.save(str(tmp_path / "run.json"))
    assert [p.name for p in tmp_path.iterdir()] == ["run.json"]
    state = json.loads((tmp_path / "run.json").read_text())
    assert (state["version"], len(state["trials"])) == (save_format.VERSION, 2)


@pytest.fixture(scope="module")
def saved_once(tmp_path_factory):
    optimizer = Optimizer(SPACE, seed=0, n_initial=3)
    run(optimizer, 5)
    optimizer.tell(optimizer.ask(), failed=True)
    optimizer.ask()
    path = tmp_path_factory.mktemp("saved") / "run.json"
    optimizer.save(path)
    return path


@pytest.fixture
def saved(saved_once, tmp_path):
    return shutil.copyfile(saved_once, tmp_path / "run.json")


def change(path, **changes):
    """Replace parts of a save file."""
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def refused(path, *words):
    """The file is refused with a message that names it, these words, and the remedy."""
    with pytest.raises(SaveFileError) as caught:
        Optimizer.load(path)
    says(caught, str(path), "damaged", "restore it from a copy, or start anew", *words)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("key", save_schema.STATE_FIELDS)
def test_a_save_file_without_a_part_is_damaged(saved, key):
    state = json.loads(saved.read_text())
    del state[key]
    saved.write_text(json.dumps(state))
    refused(saved, f"{key}: it is missing")


@pytest.mark.parametrize("version", range(1, save_format.VERSION + 1))
@pytest.mark.parametrize("trials", [3, [3], ["x"], [[]]])
def test_a_save_file_of_any_version_with_damaged_trials_is_refused(tmp_path, version, trials):
    path = tmp_path / "run.json"
    path.write_text((SAVES / f"version-{version}.json").read_text())
    change(path, trials=trials)
    with pytest.raises(SaveFileError, match="damaged"):
        Optimizer.load(path)


def trial(**changes):
    saved = {"config": {"x": 0.5, "model": "c"}, "state": "done", "values": {"value": 1.0}, "stds": {}}
    saved |= {"duration": None, "error": None, "traceback": None, "cost": None}
    return {"trials": [saved | changes], "told": [0]}


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"space": {"x": {"type": "real", "low": 1, "high": 0}}}, "low must not exceed high"),
        ({"space": {"other": {"type": "real", "low": 0, "high": 1}}}, "is unknown; known: 'other'"),
        ({"space": [["x", 1]]}, "space: it must be an object, got a list of 1"),
        ({"covariance": "rbf"}, "covariance='rbf' is unknown"),
        ({"covariance": None}, "covariance: it must be a string"),
        ({"inference": ["map"]}, "inference: it must be a string"),
        ({"seed": "x"}, "seed: it must be a whole number"),
        ({"seed": None}, "seed"),
        ({"seed": -1}, "seed"),
        ({"seed": True}, "seed"),
        ({"run": 3}, "run: it must be a string or null"),
        ({"maximize": 0}, "maximize: it must be true or false"),
        ({"noise": math.inf}, "noise"),
        ({"noise": {"value": math.inf}}, "noise"),
        ({"noise": {"value": 10**400}}, "noise"),
        ({"noise": {"value": -1e-9}}, "noise"),
        ({"noise": {"other": 1.0}}, "'other' is not one of 'value'"),
        ({"objectives": 3}, "objectives: it must be an object or null"),
        ({"objectives": {"value": "down"}}, "the direction of 'value' must be 'min' or 'max'"),
        ({"constraints": None}, "constraints: it must be an object"),
        ({"reference_point": [1]}, "reference_point: it must be an object or null"),
        ({"n_initial": None}, "n_initial: it must be a whole number from 1"),
        ({"n_initial": 10**9}, "n_initial=1000000000 is too large; use at most"),
        ({"n_initial": 10**400}, "n_initial"),
        ({"n_initial": 3.0}, "n_initial"),
        ({"asks": "many"}, "asks"),
        ({"asks": -1}, "asks: it must be a whole number from 0"),
        ({"asks": 10**400}, "asks"),
        ({"asks": False}, "asks"),
        ({"trials": 3}, "trials: it must be a list of objects"),
        ({"trials": [3]}, "trials"),
        ({"trials": [{}]}, "trial 0: config: it is missing"),
        (trial(state="lost"), "trial 0: state: it must be one of pending, done, failed"),
        (trial(state=["done"]), "trial 0: state"),
        (trial(values=1.0), "trial 0: values: it must be an object of finite numbers"),
        (trial(values={"value": "1"}), "trial 0: values: it must be an object of finite numbers"),
        (trial(values={"value": True}), "trial 0: values"),
        (trial(values={"value": math.inf}), "trial 0: values"),
        (trial(values={"value": math.nan}), "trial 0: values"),
        (trial(values={"value": 10**400}), "trial 0: values"),
        (trial(values={}), "trial 0: it is done with values an object of 0"),
        (trial(values={"other": 1.0}), "trial 0: it is done with values an object of 1"),
        (trial(state="failed"), "trial 0: it is failed with values an object of 1"),
        (trial(stds={"other": 0.1}), "trial 0: stds: it must name values of the trial"),
        (trial(config={"x": 5, "model": "c"}), "trial 0: parameter 'x': 5.0 is out of bounds"),
        (trial(config={"x": 10**400, "model": "c"}), "parameter 'x'"),
        (trial(config={"x": math.nan, "model": "c"}), "parameter 'x'"),
        (trial(config={"x": True, "model": "c"}), "parameter 'x'"),
        (trial(config=[]), "trial 0: config: it must be an object"),
        (trial(more=0.1), "trial 0: 'more': this field is unknown; remove it"),
        (trial(stds={"value": -0.1}), "trial 0: stds: it must be an object of finite numbers, zero or more"),
        (trial(duration=-0.1), "trial 0: duration: it must be a finite number, zero or more"),
        (trial(error=["no"]), "trial 0: error: it must be a string or null"),
        (trial(traceback=1), "trial 0: traceback: it must be a string or null"),
        (trial(state="forgotten", values={}), "told: it must list each trial that is done or failed, once"),
        ({"told": [0, 1, 99]}, "told: it must list each trial that is done or failed, once"),
        ({"told": [0, 1]}, "told"),
        ({"told": [0, 0, 1, 2, 3, 4, 5]}, "told"),
        ({"told": [math.inf]}, "told: it must be a list of whole numbers"),
        ({"told": [0, 1, 2, 3, 4, 5.0]}, "told"),
        ({"told": "none"}, "told"),
        ({"colour": 1}, "'colour': this field is unknown; remove it"),
    ],
    ids=str,
)
def test_a_save_file_with_a_wrong_part_is_damaged(saved, wrong, word):
    change(saved, models=None, **wrong)
    refused(saved, word)


THETA = [0.0] * 14


@pytest.mark.parametrize(
    ("model", "word"),
    [
        ({"n": 5, "n_fresh": 5, "theta": [0.0, 1.0]}, "belong to another kernel"),
        ({"n": 5, "n_fresh": 5}, "theta: it is missing"),
        ({"n": 5, "n_fresh": 5, "theta": None}, "theta: it must be a list of finite numbers"),
        ({"n": 7, "n_fresh": 5, "theta": THETA}, "n: it must be at most the number of trials told, got 7"),
        ({"n": 0, "n_fresh": 5, "theta": THETA}, "n: it must be a whole number from 1"),
        ({"n": 5, "n_fresh": 5, "theta": THETA, "more": 1}, "'more': this field is unknown"),
        (3, "models: it must be a list of objects or null"),
    ],
    ids=str,
)
def test_a_damaged_model_is_fitted_again_and_no_trial_is_lost(saved, model, word, caplog):
    whole = Optimizer.load(saved)
    change(saved, models=[model])
    optimizer = Optimizer.load(saved)
    assert optimizer.trials == whole.trials
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    for part in (str(saved), word, "every trial is kept"):
        assert part in caplog.text
    assert optimizer.tell(optimizer.ask(), 0.5).state == "done"


@pytest.mark.parametrize("entry", [0, -2, -1])
@pytest.mark.parametrize("value", [1e308, -1e308, 100.0, math.inf, math.nan, 10**400, "0", True])
def test_a_model_with_an_impossible_hyperparameter_is_fitted_again(saved, entry, value, caplog):
    (model,) = json.loads(saved.read_text())["models"]
    model["theta"][entry] = value
    change(saved, models=[model])
    optimizer = Optimizer.load(saved)
    assert len(caplog.records) == 1
    assert len(optimizer.trials) == 7
    optimizer.tell(optimizer.ask(), 0.5)


def test_a_save_file_without_a_model_is_read(saved, caplog):
    state = json.loads(saved.read_text())
    del state["models"]
    saved.write_text(json.dumps(state))
    assert len(Optimizer.load(saved).trials) == 7
    assert "models: it is missing" in caplog.text


def test_a_run_with_failures_continues_as_if_it_had_not_been_saved(tmp_path):
    optimizer = Optimizer(SPACE, seed=0, n_initial=3)
    for k in range(16):
        trial = optimizer.ask()
        optimizer.tell(trial, failed=True) if k % 3 == 1 else optimizer.tell(trial, objective(trial.config))
    optimizer.save(tmp_path / "run.json")
    loaded = Optimizer.load(tmp_path / "run.json")
    assert [trial.config for trial in loaded.ask(3)] == [trial.config for trial in optimizer.ask(3)]


@pytest.mark.parametrize("settings", [*SETTINGS, {"noise": 0.3}, {"noise": 0.0}, {"maximize": True}], ids=str)
def test_an_intact_model_is_never_taken_for_a_damaged_one(settings, tmp_path, caplog):
    optimizer = Optimizer(SPACE, seed=0, n_initial=3, **settings)
    for _ in range(6):
        run(optimizer, 1, lambda config: 1e-7 * objective(config))
        optimizer.save(tmp_path / "run.json")
        assert (Optimizer.load(tmp_path / "run.json")._models is None) == (optimizer._models is None)
    assert not caplog.records


@pytest.mark.parametrize("depth", [100, 1000, 100_000])
@pytest.mark.parametrize("opening", ["[", '{"a": ', '{"c": {"type": "choice", "options": {"a": '])
def test_a_deeply_nested_file_is_damaged(saved, depth, opening):
    closing = "".join({"[": "]", "{": "}"}[bracket] for bracket in reversed(opening) if bracket in "[{")
    text, nested = saved.read_text(), opening * depth + "0" + closing * depth
    state = json.loads(text)
    for key in ("space", "trials", "asks"):
        saved.write_text(json.dumps(state | {key: "@"}).replace('"@"', nested))
        refused(saved)


def test_a_key_that_occurs_twice_is_damage(saved):
    saved.write_text(saved.read_text().replace('"asks":', '"asks": 3, "asks":'))
    refused(saved, "the key 'asks' occurs twice in one object")


def test_files_that_are_too_large_are_not_read(saved):
    for content in (b" " * (save_format.MAX_BYTES + 1), b"[" + b"," * save_format.MAX_VALUES):
        saved.write_bytes(content)
        with pytest.raises(SaveFileError, match=r"is too large: a save file has at most"):
            Optimizer.load(saved)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="this system has no endless file")
def test_an_endless_file_is_not_read_to_its_end():
    with pytest.raises(SaveFileError, match="/dev/zero is too large"):
        Optimizer.load("/dev/zero")


def test_a_state_that_could_not_be_read_again_is_not_written(saved):
    before = saved.read_bytes()
    with pytest.raises(SaveFileError, match=r"is not written: the run is too large"):
        save_format.write(saved, {"told": [0] * save_format.MAX_VALUES})
    assert saved.read_bytes() == before


def test_a_save_file_that_is_cut_short_or_no_text_is_damaged(saved):
    whole = saved.read_bytes()
    for content in (whole[: len(whole) // 2], b"", b"\xff\xfe\x00", b"{"):
        saved.write_bytes(content)
        with pytest.raises(SaveFileError) as caught:
            Optimizer.load(saved)
        says(caught, str(saved), "damaged", "restore it from a copy")


def test_a_missing_file_a_folder_and_another_file_say_so(saved, tmp_path):
    with pytest.raises(SaveFileError, match=r"nowhere.json cannot be read: No such file.*check the path"):
        Optimizer.load(tmp_path / "nowhere.json")
    with pytest.raises(SaveFileError, match="cannot be read"):
        Optimizer.load(tmp_path)
    for content in ("[]", "{}", '{"format": "another"}'):
        saved.write_text(content)
        with pytest.raises(SaveFileError, match=r"was not written by Optimizer.save"):
            Optimizer.load(saved)


def test_a_newer_version_says_upgrade(saved):
    saved.write_text(json.dumps(json.loads(saved.read_text()) | {"version": 99}))
    with pytest.raises(SaveFileError, match=r"version 99.*upgrade addtree"):
        Optimizer.load(saved)


@pytest.mark.parametrize("version", [None, 0, True, "2", [1], {}, 2.0, -1, 10**400])
def test_a_version_that_never_was_is_refused(saved, version):
    change(saved, version=version)
    with pytest.raises(SaveFileError, match="this addtree reads versions 1 to"):
        Optimizer.load(saved)


def test_the_history_of_a_file_of_version_4_is_read(tmp_path):
    history = [[({"x": 0.1 * k, "model": "a", "y": 0.5}, float(k)) for k in range(5)]]
    space = at.Space(x=at.Real(0, 1), model=at.Choice(a=at.Space(y=at.Real(0, 1)), b=at.Space()))
    at.Optimizer(space, seed=0, history=history).save(tmp_path / "new.json")
    state = json.loads((tmp_path / "new.json").read_text())
    (state["history"][0]["values"],) = state["history"][0]["values"]  # there was one objective
    (tmp_path / "old.json").write_text(json.dumps({**state, "version": 4}))
    new, old = (Optimizer.load(tmp_path / name) for name in ("new.json", "old.json"))
    assert old.history == new.history
    assert old.ask().config == new.ask().config
    (tmp_path / "old.json").write_text(json.dumps(state))
    with pytest.raises(SaveFileError, match="history 0: values: it must be a list of lists of finite numbers"):
        Optimizer.load(tmp_path / "old.json")
