"""What a person sees during and after a run."""

from __future__ import annotations

from dataclasses import replace

import optuna
import pytest

from addtree.cli.display import describe_path, print_summary, progress_bar
from addtree.study.studies import Progress

BEST = optuna.create_trial(
    value=0.25,
    params={"model": "svm", "C": 3.0, "shrinking": True},
    distributions={
        "model": optuna.distributions.CategoricalDistribution(["svm", "forest"]),
        "C": optuna.distributions.FloatDistribution(1, 10),
        "shrinking": optuna.distributions.CategoricalDistribution([True, False]),
    },
)
PROGRESS = Progress(complete=3, pruned=1, failed=2, lost=1, running=0, best=BEST, error="OSError: disk full")


def test_the_path_of_a_trial_is_its_categories() -> None:
    assert describe_path(BEST) == "model=svm shrinking=True"


@pytest.mark.parametrize(("total", "count"), [(10, "6/10"), (5, "6/6")])
def test_the_progress_bar_shows_the_best_trial(
    total: int, count: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    with progress_bar(total) as update:
        update(PROGRESS)
    shown = capsys.readouterr()
    assert count in shown.err
    assert "best 0.25  model=svm shrinking=True  2 failed" in shown.err
    assert shown.out == ""


def test_the_summary(capsys: pytest.CaptureFixture[str]) -> None:
    print_summary("s", PROGRESS)
    assert capsys.readouterr().out.splitlines() == [
        "s: 6 trials finished (2 failed, 1 interrupted and run again)",
        "the last failure: OSError: disk full",
        'best 0.25: {"model": "svm", "C": 3.0, "shrinking": true}',
    ]


def test_a_run_without_a_feasible_trial_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    infeasible = replace(PROGRESS, best=None)
    with progress_bar(10) as update:
        update(infeasible)
    assert "nothing feasible yet  2 failed" in capsys.readouterr().err
    print_summary("s", infeasible)
    assert capsys.readouterr().out.splitlines()[2:] == [
        "no trial keeps the constraints yet; run more trials, or relax the constraints"
    ]
    with progress_bar(10) as update:
        update(replace(infeasible, complete=0))
    assert "no value yet  2 failed" in capsys.readouterr().err


def test_letters_are_shown_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    labels = optuna.distributions.CategoricalDistribution(["線形"])
    best = optuna.create_trial(value=0.5, params={"größe": "線形"}, distributions={"größe": labels})
    print_summary("s", replace(PROGRESS, best=best))
    assert capsys.readouterr().out.endswith('best 0.5: {"größe": "線形"}\n')
