from dataclasses import replace

import numpy as np
import pytest

from addtree import Choice, Real, Space
from addtree.model.gp import Posterior
from addtree.model.kernel import Hyperparameters
from addtree.search.acquisition import log_feasibility
from addtree.search.candidates import Observed
from addtree.search.hypervolume import is_nondominated, log_expected_hypervolume_improvement, reference_point
from addtree.search.multiobjective import Posteriors, by_merit, joint_criterion
from addtree.search.policy import Policy, suggest
from addtree.space.restriction import Restriction
from tests.strategies import build, differences

unit = Real(0, 1)
SPACE = Space(x=unit, c=Choice(a=Space(y=unit), b=Space(z=unit), e=Space()))
BOUNDS = ((-np.inf, 0.3), (-0.5, 0.8))


def setting(n_objectives=2, n_constraints=2, seed=0, n=12):
    """Posteriors of random values at random rows."""
    encoding, k = build(SPACE, "additive+interactions")
    rng = np.random.default_rng(seed)
    X = encoding.sample(n, rng)
    posteriors = [
        Posterior.from_data(
            k, Hyperparameters(np.full(len(k.terms), 0.5), np.full(k.n_scales, s), 1e-6), k.rows(X), rng.normal(size=n)
        )
        for s in rng.uniform(0.3, 0.8, n_objectives + n_constraints)
    ]
    found = Posteriors(tuple(posteriors[:n_objectives]), tuple(posteriors[n_objectives:]), BOUNDS[:n_constraints])
    return found, Observed(encoding, X, posteriors[0].z, set(encoding.keys(X)))


def means_of(posteriors):
    return np.array([p.means() for p in posteriors.objectives]).T, np.array(
        [p.means() for p in posteriors.constraints]
    ).T


def is_feasible(constraints):
    low, high = np.array(BOUNDS[: constraints.shape[1]]).T
    return np.all((constraints >= low) & (constraints <= high), axis=1)


def test_the_criterion_is_the_improvement_and_the_feasibility():
    posteriors, observed = setting()
    losses, constraints = means_of(posteriors)
    front = losses[is_feasible(constraints)]
    assert len(front)
    front = front[is_nondominated(front)]
    X = observed.encoding.sample(30, np.random.default_rng(1))
    rows = posteriors.objectives[0].kernel.rows(X)
    mean, variance = (np.array(part) for part in zip(*(p.predict(rows) for p in posteriors.objectives), strict=True))
    expected = log_expected_hypervolume_improvement(front, reference_point(front, margin=0.7))(mean, variance)[0]
    for posterior, bounds in zip(posteriors.constraints, BOUNDS, strict=True):
        expected += log_feasibility(*bounds)(*posterior.predict(rows))[0]
    found = joint_criterion(posteriors, observed, aim=0.0, margin=0.7).values(X)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize(("n_objectives", "n_constraints"), [(1, 1), (2, 0), (2, 2), (3, 1)])
@pytest.mark.parametrize("aim", [0.0, 0.1])
def test_gradients_of_the_criterion(n_objectives, n_constraints, aim):
    posteriors, observed = setting(n_objectives, n_constraints)
    criterion = joint_criterion(posteriors, observed, aim=aim, margin=1.0)
    X = observed.encoding.sample(6, np.random.default_rng(3))
    function = criterion.function(X)
    value, gradient = function(X)
    np.testing.assert_allclose(value, criterion.values(X), rtol=1e-8)
    numeric = observed.encoding.is_numeric & ~np.isnan(X)
    for b in range(len(X)):
        columns = np.flatnonzero(numeric[b])

        def moved(x, b=b, columns=columns):
            there = X.copy()
            there[b, columns] = x
            return function(there)[0][b]

        slopes = differences(moved, X[b, columns], step=1e-6)
        np.testing.assert_allclose(gradient[b, columns], slopes, rtol=2e-4, atol=1e-4)


def test_without_anything_feasible_the_probabilities_count():
    posteriors, observed = setting(1, 1)
    never = Posteriors(posteriors.objectives, posteriors.constraints, ((-np.inf, -9.0),))
    X = observed.encoding.sample(5, np.random.default_rng(1))
    posterior = posteriors.constraints[0]
    expected = log_feasibility(-np.inf, -9.0)(*posterior.predict(posterior.kernel.rows(X)))[0]
    np.testing.assert_allclose(joint_criterion(never, observed, aim=0.0, margin=1.0).values(X), expected)


def test_what_is_known_to_be_feasible_does_not_depend_on_means():
    posteriors, observed = setting()
    by_means = posteriors.violations(observed.X)
    known = np.arange(len(observed.X)) % 2 == 0
    told = replace(posteriors, feasible=known)
    assert np.array_equal(told.violations(observed.X) == 0.0, known)
    assert np.all(told.violations(observed.X)[~known] >= by_means[~known])
    both = np.concatenate([observed.X, observed.encoding.sample(3, np.random.default_rng(1))])  # three are pending
    np.testing.assert_array_equal(told.violations(both)[-3:], posteriors.violations(both)[-3:])
    elsewhere = observed.encoding.sample(len(known), np.random.default_rng(2))
    np.testing.assert_array_equal(told.violations(elsewhere), posteriors.violations(elsewhere))


def test_a_pending_row_counts_with_its_mean():
    """What a row that is being evaluated will probably gain is no gain for another one."""
    posteriors, observed = setting(2, 0)
    rng = np.random.default_rng(5)
    pending = suggest(Policy(), posteriors, observed, turn=2, rng=rng)[None]
    rows = posteriors.objectives[0].kernel.rows(pending)
    expecting = tuple(p.condition(rows, p.predict(rows)[0]) for p in posteriors.objectives)
    before = joint_criterion(posteriors, observed, aim=0.0, margin=1.0).values(pending)
    after = joint_criterion(Posteriors(expecting, pending=pending), observed, aim=0.0, margin=1.0).values(pending)
    forgotten = joint_criterion(Posteriors(expecting), observed, aim=0.0, margin=1.0).values(pending)
    assert after[0] < before[0] - 2.0
    assert after[0] < forgotten[0] - 2.0


def test_merit_orders_feasible_observations_by_front_and_others_by_violation():
    posteriors, observed = setting(2, 2, n=25)
    losses, constraints = means_of(posteriors)
    feasible = is_feasible(constraints)
    merit = by_merit(observed, posteriors, np.random.default_rng(0)).y
    front = np.flatnonzero(feasible)[is_nondominated(losses[feasible])]
    others = np.setdiff1d(np.flatnonzero(feasible), front)
    assert merit[front].max() < merit[others].min(initial=np.inf)
    assert merit[feasible].max() < merit[~feasible].min()
    low, high = np.array(BOUNDS).T
    violation = np.maximum(np.maximum(low - constraints, constraints - high), 0.0).sum(axis=1)
    order = np.argsort(merit)
    assert np.all(np.diff(violation[order]) >= 0.0)
    orders = {tuple(np.argsort(by_merit(observed, posteriors, np.random.default_rng(s)).y)) for s in range(8)}
    assert len(orders) > 1 or len(front) == 1


@pytest.mark.parametrize("turn", range(1, 7))
@pytest.mark.parametrize(("n_objectives", "n_constraints"), [(1, 2), (2, 0), (3, 1)])
def test_suggestions_of_every_turn_are_new_and_agree_with_a_restriction(turn, n_objectives, n_constraints):
    posteriors, observed = setting(n_objectives, n_constraints)
    encoding = observed.encoding
    for restriction in (None, Restriction.of(encoding, {"c": "b", "x": 0.25})):
        asked = Observed(encoding, observed.X, observed.y, observed.taken, restriction)
        row = suggest(Policy(), posteriors, asked, turn=turn, rng=np.random.default_rng(turn))
        assert row is not None
        SPACE.validate(encoding.decode(row))
        assert encoding.keys(row[None])[0] not in observed.taken
        assert restriction is None or restriction.agrees(row[None])[0]
