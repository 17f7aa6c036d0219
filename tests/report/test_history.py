"""What became of what earlier studies said."""

import numpy as np
import pytest

import addtree as at
from addtree.report.html import render
from addtree.report.summary import Report, build
from addtree.report.text import explain
from tests.strategies import sample

SPACE = at.Space(
    rate=at.Real(1e-4, 1, log=True), model=at.Choice(a=at.Space(x=at.Real(0, 1)), b=at.Space(y=at.Real(0, 1)))
)


def objective(config, *, better="a", sign=1.0):
    """Depends on `rate` and `model`, and hardly on `x` and `y`."""
    level = 0.0 if config["model"] == better else 2.0
    return sign * (level + (np.log10(config["rate"]) + 3) ** 2 + 1e-9 * config.get("x", 0.0))


def pairs(n, seed, **options):
    return [(config, objective(config, **options)) for config in sample(SPACE, n, seed)]


def report(history, *, maximize=False) -> Report:
    sign = -1.0 if maximize else 1.0
    trials = [{"config": config, "value": value} for config, value in pairs(16, 0, sign=sign)]
    return build(SPACE, trials, maximize=maximize, history=history)


def beliefs(found, number: int = 0) -> dict[str, str]:
    return {belief.name: belief.verdict for belief in found.studies[number].beliefs}


@pytest.mark.parametrize("maximize", [False, True])
def test_what_was_true_again_is_confirmed_and_the_opposite_is_overturned(maximize):
    sign = -1.0 if maximize else 1.0
    history = [pairs(20, 1, sign=sign), pairs(20, 2, better="b", sign=sign)]
    found = report(history, maximize=maximize).history["value"]
    assert beliefs(found, 0) == {"rate": "confirmed", "model": "confirmed"}
    assert beliefs(found, 1) == {"rate": "confirmed", "model": "overturned"}
    assert [study.name for study in found.studies] == ["history[0]", "history[1]"]
    assert found.studies[0].agreement > 0.9 > found.studies[1].agreement
    assert found.weight > 0.5


def test_what_the_new_study_is_not_sure_of_stays_open():
    trials = [{"config": {**config, "rate": 0.01}, "value": objective(config)} for config, _ in pairs(16, 0)]
    found = build(SPACE, trials, history=[pairs(20, 1)]).history["value"]
    assert beliefs(found)["rate"] == "open"


def test_configurations_that_are_repeated_are_counted():
    same = pairs(16, 0)[:5]
    best = min(range(16), key=lambda k: pairs(16, 0)[k][1])
    found = report([[*same, *pairs(5, 3)], [pairs(16, 0)[best], *pairs(5, 4)]]).history["value"]
    distinct = 5 if best < 5 else 6
    assert [study.repeated for study in found.studies] == [5, 1]
    assert [study.best for study in found.studies] == [best < 5, True]
    assert found.repeated == distinct
    assert f"{distinct} configurations came from there, also the best one" in found.verdict
    assert report([same, same]).history["value"].repeated == 5


def test_a_history_that_is_always_wrong_is_said_to_be_unused():
    found = report([[(config, -value) for config, value in pairs(30, 1)]]).history["value"]
    assert found.weight == 0.0
    assert "not used any more" in found.verdict
    assert found.studies[0].agreement < -0.9


def test_each_of_several_objectives_is_compared():
    """The second objective is the opposite of the first, in the study and its history."""
    trials = [{"config": config, "value": {"a": value, "b": -value}} for config, value in pairs(16, 0)]
    history = [[(config, {"a": value, "b": -value}) for config, value in pairs(20, 1)]]
    found = build(SPACE, trials, objectives={"a": "min", "b": "min"}, history=history)
    assert list(found.history) == ["a", "b"]
    first, second = (each.studies[0] for each in found.history.values())
    assert {belief.name: belief.verdict for belief in first.beliefs} == {"rate": "confirmed", "model": "confirmed"}
    assert [belief.earlier for belief in first.beliefs] != [belief.earlier for belief in second.beliefs]
    assert "what became of earlier studies about b" in explain(found)
    page = render(found)
    assert page.count("What the earlier study says") == 2
    negated = [[(config, {"a": value, "b": value}) for config, value in pairs(20, 1)]]
    weights = build(SPACE, trials, objectives={"a": "min", "b": "min"}, history=negated).history
    assert weights["a"].weight > 0.5 > weights["b"].weight


def test_there_is_no_section_without_a_history_that_can_be_used():
    for history in ([], [[({"other": 1}, 0.0), ({"other": 2}, 1.0)]]):
        without = report(history)
        assert not without.history
        assert "earlier stud" not in explain(without)
        assert 'id="history"' not in render(without)


def test_the_page_and_the_text_show_it_and_names_are_escaped(tmp_path):
    earlier = at.Optimizer(SPACE, seed=0)
    for config, value in pairs(20, 2, better="b"):
        earlier.tell(config, value)
    path = tmp_path / "<i>old<i>.json"
    earlier.save(path)
    found = report([path])
    assert "overturned: model best at b, here at a" in explain(found)
    page = render(found)
    assert "&lt;i&gt;old&lt;i&gt;.json" in page
    assert "<i>old" not in page
    assert '<td class="text">overturned</td>' in page


def test_the_report_of_a_run_shows_its_history(tmp_path):
    result = at.minimize(objective, SPACE, 8, seed=0, history=[pairs(20, 1)])
    result.report(tmp_path / "report.html")
    assert "What became of earlier studies" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_wild_values_break_nothing():
    configs = sample(SPACE, 12, 7)
    wild = [1e300, -1e300, None, 0.0, 1e-300, 3.0]
    history = [
        [(config, wild[k % 6]) for k, config in enumerate(configs)],
        [(configs[0], 1.0), (configs[0], 2.0)],
        [(config, 1e300 * objective(config) / 20) for config in configs],
    ]
    found = report(history)
    assert len(found.history["value"].studies) == 3
    assert "nan" not in explain(found)
    assert render(found)
