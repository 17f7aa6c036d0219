import numpy as np
import pytest

from addtree import problems
from addtree.problems import goldstein, interaction, rosenbrock, shared_offset, synthetic

ALL = [synthetic, interaction, shared_offset, goldstein, rosenbrock]
OPTIMA = {
    "synthetic": {"x1": 0, "x2": 0, "r8": 0.0, "x4": 0.0},
    "interaction": {"x1": 0, "x2": 0, "r8": 0.3, "x4": 0.38},
    "shared_offset": {"t": 1.5, "x": "A", "y": 1.5},
}


@pytest.mark.parametrize("make", ALL)
def test_no_configuration_is_below_the_optimum(make):
    problem = make()
    rng = np.random.default_rng(0)
    values = [problem.objective(problem.space.sample(rng)) for _ in range(3000)]
    assert np.all(np.isfinite(values))
    assert min(values) >= problem.optimum - 1e-9


@pytest.mark.parametrize("name", OPTIMA)
def test_the_optimum_is_reached(name):
    problem = getattr(problems, name)()
    assert problem.name == name
    assert problem.objective(problem.space.validate(OPTIMA[name])) == pytest.approx(problem.optimum, abs=1e-12)


def test_the_optimum_of_goldstein_and_rosenbrock_is_reached_by_descent():
    from scipy.optimize import minimize

    ends = {
        "goldstein": {"z3": 0, "z4": 0, "w1": 3, "w2": 1},
        "rosenbrock": {"z1": 0, "z2": 1, "w1": 0, "w2": 1, "z3": 2},
    }
    for make in (goldstein, rosenbrock):
        problem = make()
        fixed = ends[problem.name]
        names = {
            "goldstein": ["x1", "x2", "x3", "x4", "x5"],
            "rosenbrock": ["x1", "x2", "x5", "x6"],
        }[problem.name]
        domains = [problem.space.variables[n] for n in names]

        def value(x, names=names, fixed=fixed, problem=problem):
            return problem.objective(fixed | dict(zip(names, map(float, x), strict=True)))

        bounds = [(d.low, d.high) for d in domains]
        starts = [
            [d._decode(u) for d, u in zip(domains, us, strict=True)]
            for us in np.random.default_rng(0).random((8, len(names)))
        ]
        best = min(minimize(value, start, bounds=bounds).fun for start in starts)
        assert best == pytest.approx(problem.optimum, rel=1e-6)


def test_the_papers_tree():
    space = synthetic().space
    assert space.n_paths == 4
    assert sum(len(v.names) for v in space.vertices) == 6
    rng = np.random.default_rng(0)
    assert {space.effective_dimension(space.sample(rng)) for _ in range(20)} == {2}
    assert synthetic().objective({"x1": 1, "x3": 1, "r9": 0.25, "x7": -0.5}) == pytest.approx(0.25 + 0.4 + 0.25)
