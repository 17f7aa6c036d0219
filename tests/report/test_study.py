"""The report of an Optuna study, from Python and from the command line."""

from __future__ import annotations

import sys
from pathlib import Path

import optuna
import pytest

import addtree as at
from addtree import cli
from addtree.report.study import build_study
from addtree.report.text import explain
from addtree.run.goals import Goals
from addtree.study.studies import open_study


@pytest.fixture(autouse=True)
def quiet() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)


def test_a_define_by_run_study_keeps_its_own_values() -> None:
    def objective(trial: optuna.Trial) -> float:
        layers = trial.suggest_int("layers", 1, 3)
        kind = trial.suggest_categorical("kind", ["relu", None, True])
        width = trial.suggest_int("width", 8, 64, step=8)
        rate = trial.suggest_float("rate", 0.1, 0.5, step=0.1)
        if trial.number == 3:
            raise RuntimeError("no")
        units = [trial.suggest_float(f"u{i}", 0, 1) for i in range(layers)]
        return sum(units) + width / 64 + rate + (kind is None)

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=30, catch=RuntimeError)
    report = build_study(study)
    assert report.count("done") == 29
    assert report.count("failed") == 1
    assert report.best is not None
    assert report.best.config == study.best_params
    assert report.best.seconds is not None
    u1, u2 = at.Space(u1=at.Real(0, 1)), at.Space(u2=at.Real(0, 1))
    assert report.space.variables["layers"] == at.Integer(1, 3, opens={(2, 3): u1, (3, 3): u2})
    assert report.space.variables["kind"] == at.Categorical(["relu", None, True])
    assert report.learned is not None
    assert set(report.learned.curves) == {"layers", "kind", "width", "rate", "u0", "u1", "u2"}


def test_a_study_with_a_dynamic_range_is_reported_and_its_space_printed() -> None:
    def objective(trial: optuna.Trial) -> float:
        n = trial.suggest_int("n", 1, 50)
        return (
            n + trial.suggest_float("x", 0, n) + trial.suggest_float(trial.suggest_categorical("c", ["y", "z"]), 0, 1)
        )

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=12)
    report = build_study(study)
    assert report.count("done") == 12
    assert [trial.config for trial in report.trials] == [trial.params for trial in study.trials]
    highest = max(trial.params["n"] for trial in study.trials)
    assert report.space.variables["x"] == at.Real(0, highest)
    assert "space, as the trials show it\n  n: integer 1..50" in explain(report)


def two_objectives(trial: optuna.Trial) -> tuple[float, float]:
    x = trial.suggest_float("x", 0, 1)
    y = trial.suggest_float("y", 0, 1) if trial.suggest_categorical("m", ["a", "b"]) == "b" else 0.5
    trial.set_constraint("budget", x + y - 1.2)
    return x + y, x - y


def test_several_objectives_of_any_study() -> None:
    study = optuna.create_study(
        directions=["minimize", "maximize"], sampler=optuna.samplers.RandomSampler(seed=0), study_name="two"
    )
    study.optimize(two_objectives, n_trials=15)
    report = build_study(study)
    assert [(o.name, o.maximize) for o in report.goals.objectives] == [("objective 0", False), ("objective 1", True)]
    assert report.front is not None
    assert report.front.ids == {trial.number for trial in study.best_trials}
    assert [c.name for c in report.goals.constraints] == ["budget"]
    assert [t.values["budget"] for t in report.trials] == [t.constraints["budget"] for t in study.trials]
    assert explain(report).startswith("two: 15 trials, 0 failed, ")


def test_metric_names_are_the_names_of_objectives() -> None:
    study = optuna.create_study(directions=["minimize", "maximize"], sampler=optuna.samplers.RandomSampler(seed=0))
    with pytest.warns(optuna.exceptions.ExperimentalWarning):
        study.set_metric_names(["error", "speed"])
    study.optimize(two_objectives, n_trials=3)
    assert build_study(study).goals.names == ("error", "speed", "budget")


def test_a_trial_that_does_not_fit_the_space_counts_as_failed() -> None:
    space = at.Space(x=at.Real(0, 1), y=at.Real(0, 1))
    study = open_study(optuna.storages.InMemoryStorage(), "s", space, seed=0)
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1) + trial.suggest_float("y", 0, 1), n_trials=5)
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)
    report = build_study(study)
    assert [trial.state for trial in report.trials] == ["done"] * 5 + ["failed"]
    assert "its stored parameters do not fit the space" in str(report.trials[5].error)
    assert report.learned is not None


def test_an_infinite_value_counts_as_failed() -> None:
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(lambda trial: trial.suggest_int("k", 0, 1) + float("inf"), n_trials=1)
    report = build_study(study)
    assert [(trial.state, trial.error) for trial in report.trials] == [("failed", "its value is infinite")]


def test_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("task.py").write_text(
        "import addtree as at\n"
        "space = at.Space(m=at.Choice(a=at.Space(x=at.Real(0, 1)), b=at.Space()))\n"
        "def objective(config):\n"
        "    if config['m'] == 'b': raise MemoryError('too large')\n"
        "    return config['x']\n"
    )

    def run(*arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["addtree", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return int(ended.value.code or 0)

    assert run("run", "task.py", "--trials", "12", "--seed", "0", "--maximize") == 0
    assert run("report", "task", "-o", "out.html") == 0
    page = Path("out.html").read_text(encoding="utf-8")
    assert "MemoryError: too large" in page
    assert "largest value" in page
    capsys.readouterr()
    assert run("explain") == 0
    said = capsys.readouterr().out
    assert "task: 12 trials" in said
    assert "x=" in said
    assert run("report", "other") == 4
    assert run("report", "-o", "nowhere/out.html") == 2


LUCKY = at.Space(x=at.Real(0, 1))


def noisy_study(noise: float | None, std: float | None) -> optuna.Study:
    """A smooth function whose trial 7 has a value that is far too good."""
    study = open_study(optuna.storages.InMemoryStorage(), "s", LUCKY, seed=0, goals=Goals.read(None, None, noise=noise))
    for i in range(15):
        x = i / 14
        attrs = {"addtree:std": std} if i == 7 and std is not None else {}
        distributions = {"x": optuna.distributions.FloatDistribution(0, 1)}
        value = x - 2.0 * (i == 7)
        study.add_trial(
            optuna.create_trial(params={"x": x}, distributions=distributions, value=value, user_attrs=attrs)
        )
    return study


def predicted(study: optuna.Study, noise: float | None = None) -> float:
    """What the model of the report says about the best trial, whose value is -1.5."""
    report = build_study(study, noise=noise)
    assert report.best is not None
    assert report.best.id == 7
    assert report.learned is not None
    assert report.learned.best is not None
    return report.learned.best.predicted


def test_the_report_uses_the_noise_of_the_study() -> None:
    assert predicted(noisy_study(noise=0.0, std=None)) == pytest.approx(-1.5, abs=0.05)
    assert predicted(noisy_study(noise=1.0, std=None)) > -0.5
    assert predicted(noisy_study(noise=0.0, std=None), noise=1.0) > -0.5  # an option overrides it


def test_the_report_uses_standard_errors() -> None:
    study = noisy_study(noise=0.0, std=3.0)
    assert predicted(study) == pytest.approx(0.5, abs=0.2)  # the other values are exact
    report = build_study(study)
    assert report.learned is not None
    trust = report.learned.trust
    assert trust.std[7] >= 3.0  # the error of the value belongs to its prediction
    assert [trial.std for trial in report.trials if trial.std is not None] == [3.0]


def test_a_trial_with_an_impossible_standard_error_counts_as_failed() -> None:
    report = build_study(noisy_study(noise=None, std=-1.0))
    assert report.count("failed") == 1
    assert "addtree:std" in report.errors[0][0]
