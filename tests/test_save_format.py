"""`Optimizer.save` and `load`: a loaded run continues, every past version is read, what is damaged is refused."""

import json
from pathlib import Path

import numpy as np
import pytest

import addtree as at
from addtree import _save_format
from addtree.errors import OptionError, SaveFileError
from addtree.optimizer import Optimizer, Settings
from addtree.search.policy import Policy
from tests.test_optimizer import PAPER, SETTINGS, SPACE, objective, run, says

SAVES = Path(__file__).with_name("data") / "saves"


@pytest.mark.parametrize("version", range(1, _save_format.VERSION + 1))
def test_a_file_of_every_past_version_is_read(version, tmp_path):
    optimizer = Optimizer.load(SAVES / f"version-{version}.json")
    states = [trial.state for trial in optimizer.trials]
    assert (states.count("done"), states.index("failed"), states.index("pending")) == (10, 4, 8)
    pending = optimizer.trials[8]
    config = optimizer.ask().config  # as the optimizer that was saved went on
    assert (config["model"], config["z"]) == ("b", "u")
    assert config["x"] == pytest.approx(0.27565, abs=0.01)
    assert optimizer.tell(pending, 0.5).id == 8
    optimizer.save(tmp_path / "run.json")
    assert json.loads((tmp_path / "run.json").read_text())["version"] == _save_format.VERSION


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
@pytest.mark.parametrize("after", [0, 3, 9])
def test_save_load_and_continue_is_the_uninterrupted_run(settings, after, tmp_path):
    whole, part = (Optimizer(SPACE, seed=5, n_initial=5, **settings) for _ in range(2))
    for i in range(13):
        mixed(i, whole.ask(), whole)
    for i in range(after):
        mixed(i, part.ask(), part)
    for i in range(after, 13):
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
    assert (state["version"], len(state["trials"])) == (_save_format.VERSION, 2)


@pytest.fixture
def saved(tmp_path):
    optimizer = Optimizer(SPACE, seed=0, n_initial=3)
    run(optimizer, 5)
    optimizer.tell(optimizer.ask(), failed=True)
    optimizer.ask()
    path = tmp_path / "run.json"
    optimizer.save(path)
    return path


SETTINGS_SAVED = ("seed", "maximize", "covariance", "acquisition", "inference", "noise", "n_initial", "initial")
KEYS = ("space", "run", *SETTINGS_SAVED, "asks", "trials", "told")


@pytest.mark.parametrize("key", [*KEYS, "model"])
def test_a_save_file_without_a_part_is_damaged(saved, key):
    state = json.loads(saved.read_text())
    del state[key]
    saved.write_text(json.dumps(state))
    with pytest.raises(SaveFileError) as caught:
        Optimizer.load(saved)
    says(caught, str(saved), "damaged", key, "restore it from a copy")


@pytest.mark.parametrize(
    "change",
    [
        {"space": {"x": {"type": "real", "low": 1, "high": 0}}},
        {"space": {"other": {"type": "real", "low": 0, "high": 1}}},
        {"covariance": "rbf"},
        {"seed": "x"},
        {"n_initial": None, "seed": None, "trials": 3},
        {"trials": [3]},
        {"trials": [{"config": {"x": 0.5, "model": "c"}, "state": "lost", "value": 1.0}], "told": [0], "model": None},
        {"trials": [{"config": {"x": 0.5, "model": "c"}, "state": "done", "value": "1"}], "told": [0], "model": None},
        {"trials": [{"config": {"x": 0.5, "model": "c"}, "state": "done", "value": None}], "told": [0], "model": None},
        {"trials": [{"config": {"x": 5, "model": "c"}, "state": "done", "value": 1.0}], "told": [0], "model": None},
        {"told": [0, 1, 99], "model": None},
        {"told": [0, 1], "model": None},
        {"told": [0, 0, 1, 2, 3, 4, 5], "model": None},
        {"told": "none"},
        {"asks": "many"},
        {"model": {"n": 5, "theta": [0.0, 1.0]}},
        {"model": {"n": 500, "theta": None}},
        {"model": {"n": 5}},
    ],
    ids=str,
)
def test_a_save_file_with_a_wrong_part_is_damaged(saved, change):
    saved.write_text(json.dumps(json.loads(saved.read_text()) | change))
    with pytest.raises(SaveFileError) as caught:
        Optimizer.load(saved)
    says(caught, str(saved), "damaged", "start anew")


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
