"""SMAC's adapter: valid configurations, and the number of initial points that was asked for."""

import logging

import pytest

from addtree import Real, Space
from addtree.paper.baselines.smac import Smac
from addtree.problems import goldstein

pytest.importorskip("smac", reason="SMAC comes with the extra paper or bench")


@pytest.mark.filterwarnings("ignore")  # SMAC's dependencies warn when they are imported
@pytest.mark.parametrize(("settings", "n_initial"), [({"budget": 40}, 10), ({"budget": 10_000, "n_initial": 4}, 4)])
def test_it_suggests_valid_configurations_after_its_initial_points(settings, n_initial):
    problem = goldstein()
    method = Smac(problem.space, 0, **settings)
    origins = []
    for _ in range(n_initial + 2):
        config = method.ask()
        assert problem.space.validate(config) == config
        origins.append(method._info.config.origin)
        method.tell(config, problem.objective(config))
    assert all("Initial Design" in origin for origin in origins[:n_initial])
    assert not any("Initial Design" in origin for origin in origins[n_initial:])


@pytest.mark.filterwarnings("ignore")
def test_it_begins_with_given_configurations_also_at_bounds_that_configspace_rounds():
    space = Space(x=Real(2.718281828459045, 148.4131591025766, log=True))
    given = [{"x": 2.718281828459045}, {"x": 7.0}]
    method = Smac(space, 0, budget=10, initial=given)
    asked = []
    for _ in range(3):
        asked.append(method.ask())
        method.tell(asked[-1], asked[-1]["x"])
    assert [config["x"] for config in asked[:2]] == pytest.approx([2.718281828459045, 7.0])


@pytest.mark.filterwarnings("ignore")
def test_it_leaves_the_logging_of_the_process_alone(capfd):
    root = logging.getLogger()
    before = root.level, list(root.handlers)
    method = Smac(Space(x=Real(0, 1)), 0, budget=10)
    method.tell(config := method.ask(), config["x"])
    assert (root.level, list(root.handlers)) == before
    assert capfd.readouterr() == ("", "")
