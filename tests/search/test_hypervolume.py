from itertools import combinations, pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import erfcx, logsumexp

from addtree.search.hypervolume import (
    Boxes,
    _Axis,
    domination_counts,
    hypervolumes,
    is_nondominated,
    log_expected_hypervolume_improvement,
    reference_point,
)
from tests.strategies import differences

# Few values, so that many are equal.
VALUES = (
    st.integers(2, 4)
    .flatmap(lambda k: st.lists(st.lists(st.integers(0, 4), min_size=k, max_size=k), min_size=1, max_size=7))
    .map(lambda rows: np.array(rows, dtype=float))
)
FRONTS = {
    2: np.array([[0.0, 2.0], [1.0, 1.0], [1.5, 0.5]]),
    3: np.array([[0.0, 1.0, 2.0], [2.0, 0.5, 0.0], [1.0, 1.0, 1.0], [0.5, 2.0, 1.0]]),
    4: np.array([[0.0, 1.0, 2.0, 1.0], [2.0, 0.5, 0.0, 1.5], [1.0, 1.0, 1.0, 0.0]]),
}
PLACES = {
    "inside": (np.array([1.0, 1.2, 0.7, 0.9]), np.array([0.5, 0.3, 1.0, 0.4])),
    "beyond": (np.array([-3.0, 0.2, -1.0, 0.1]), np.array([0.1, 0.02, 0.3, 0.1])),
    "certain": (np.array([0.7, 0.9, 0.8, 0.7]), np.array([1e-6, 1e-8, 1e-4, 1e-6])),
    "far": (np.array([40.0, 25.0, 60.0, 30.0]), np.array([1.0, 0.3, 2.0, 0.5])),
}


def dominates(one, other):
    return bool(np.all(one <= other) and np.any(one < other))


@given(VALUES)
def test_the_front_is_what_nothing_dominates(F):
    expected = [not any(dominates(other, one) for other in F) for one in F]
    assert is_nondominated(F).tolist() == expected


@given(VALUES)
def test_the_counts_are_those_of_all_pairs(F):
    assert domination_counts(F).tolist() == [sum(dominates(other, one) for other in F) for one in F]


def test_many_values_are_compared_in_blocks():
    F = np.random.default_rng(0).normal(size=(700, 3))
    order = np.random.default_rng(1).permutation(700)
    np.testing.assert_array_equal(domination_counts(F)[order], domination_counts(F[order]))
    assert domination_counts(F)[650] == sum(dominates(other, F[650]) for other in F)


def inclusion_exclusion(F, reference):
    """The volume of the union of the boxes between each value and the reference point."""
    total = 0.0
    for size in range(1, len(F) + 1):
        for chosen in combinations(F, size):
            sides = np.maximum(reference - np.max(chosen, axis=0), 0.0)
            total -= (-1.0) ** size * np.prod(sides)
    return total


@settings(max_examples=60, deadline=None)
@given(VALUES, st.floats(1.0, 5.0))
def test_the_hypervolume_is_that_of_inclusion_and_exclusion(F, level):
    reference = np.full(F.shape[1], level)
    found = hypervolumes(F, reference)
    expected = [inclusion_exclusion(F[: n + 1], reference) for n in range(len(F))]
    np.testing.assert_allclose(found, expected, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(VALUES, st.integers(0, 2**32 - 1))
def test_the_boxes_are_disjoint_and_cover_what_is_not_dominated(F, seed):
    boxes = Boxes.below(np.full(F.shape[1], 3.5))
    for y in F:
        boxes = boxes.without(y)
    points = np.random.default_rng(seed).uniform(-1.0, 5.0, size=(200, F.shape[1]))
    inside = np.all((boxes.low <= points[:, None]) & (points[:, None] < boxes.high), axis=2).sum(axis=1)
    wanted = [bool(np.all(p < 3.5)) and not any(np.all(y <= p) for y in F) for p in points]
    assert inside.tolist() == [int(is_wanted) for is_wanted in wanted]


# ---------------------------------------------------------------------- expected improvement


def log_integral_of_cdf(low, high, mean, sigma):
    """log ∫ Φ((t - mean)/σ) dt from low to high, by quadrature of the integrand without its largest factor."""
    a, b = (low - mean) / sigma, (high - mean) / sigma
    top = min(b, 0.0)  # Φ(t) = exp(-t²/2) erfcx(-t/√2)/2, and the exponential is largest at the top

    def integrand(t):
        return (
            0.5 * erfcx(-t / np.sqrt(2.0)) * np.exp(-0.5 * t * t + 0.5 * top * top)
            if t < 20.0
            else np.exp(0.5 * top**2)
        )

    scale = 1.0 / max(abs(top), 1.0)
    edges = [e for e in b - scale * np.array([40.0, 10.0, 3.0, 1.0, 0.0]) if e > a]
    edges = [max(a, b - 60.0 * scale if b < 0 else min(-12.0, b - 1.0)), *edges]
    value = sum(quad(integrand, s, e, epsabs=0, epsrel=1e-10)[0] for s, e in pairwise(edges) if e > s)
    return np.log(sigma) + np.log(value) - 0.5 * top * top


def brute_force(front, reference, mean, sigma):
    """log of the integral of P(Y <= t) over all t that are not dominated, cell by cell of the grid of all coordinates.

    A value Y adds the volume of the t that it dominates, so that this integral is the expected gain.
    """
    ends = [np.unique([-np.inf, *front[:, k], reference[k]]) for k in range(len(mean))]
    ends = [e[e <= r] for e, r in zip(ends, reference, strict=True)]
    logs = [
        [log_integral_of_cdf(a, b, m, s) for a, b in pairwise(e)] for e, m, s in zip(ends, mean, sigma, strict=True)
    ]
    cells = []
    for position in product(*(range(len(row)) for row in logs)):
        corner = np.array([e[i] for e, i in zip(ends, position, strict=True)])
        if not any(np.all(y <= corner) for y in front):
            cells.append(sum(row[i] for row, i in zip(logs, position, strict=True)))
    return logsumexp(cells)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("K", FRONTS)
def test_the_expected_improvement_is_the_integral(K, place):
    mean, variance = (part[:K] for part in PLACES[place])
    front, reference = FRONTS[K], np.full(K, 2.5)
    found = log_expected_hypervolume_improvement(front, reference)(mean[:, None], variance[:, None])[0][0]
    expected = brute_force(front, reference, mean, np.sqrt(variance))
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("width", [1e-3, 1e-5, 1e-6, 1e-8])
@pytest.mark.parametrize(("mean", "sigma"), [(0.1, 1.0), (30.0, 1.5), (-20.0, 2.0)])
def test_narrow_sides_are_accurate(width, mean, sigma):
    """The difference of two nearly equal expectations would lose its digits."""
    low, high = np.array([0.4]), np.array([0.4 + width])
    axis = _Axis.of(low, high)

    def value(move):
        return axis.log_lengths(np.array([mean + sigma * move[0]]), np.array([sigma**2 * np.exp(move[1])]))[0][0]

    length, by_mean, by_variance = axis.log_lengths(np.array([mean]), np.array([sigma**2]))
    assert length[0, 0] == pytest.approx(log_integral_of_cdf(low[0], high[0], mean, sigma), rel=1e-7, abs=1e-7)
    numeric = differences(value, np.zeros(2), step=1e-4)[:, 0]
    np.testing.assert_allclose([by_mean[0, 0] * sigma, by_variance[0, 0] * sigma**2], numeric, rtol=1e-5, atol=1e-5)


def test_the_narrowest_side_far_above_the_mean_has_its_width():
    """The two expectations are equal floats; so are fronts of means that differ by rounding, in a finite space."""
    axis = _Axis.of(np.array([0.4]), np.array([np.nextafter(0.4, 1.0)]))
    length, by_mean, by_variance = axis.log_lengths(np.array([-1.0]), np.array([1e-18]))
    assert length[0, 0] == pytest.approx(np.log(np.spacing(0.4)))
    assert (by_mean[0, 0], by_variance[0, 0]) == (0.0, 0.0)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("K", FRONTS)
def test_the_gradient_is_that_of_the_value(K, place):
    mean, variance = (part[:K] for part in PLACES[place])
    acquisition = log_expected_hypervolume_improvement(FRONTS[K], np.full(K, 2.5))
    _, by_mean, by_variance = acquisition(mean[:, None], variance[:, None])
    sigma = np.sqrt(variance)

    def value(move):  # in units of σ, so that one step fits all
        return acquisition((mean + sigma * move[:K])[:, None], (variance * np.exp(move[K:]))[:, None])[0]

    numeric = differences(value, np.zeros(2 * K), step=1e-5)[:, 0]
    np.testing.assert_allclose(
        numeric, [*(by_mean[:, 0] * sigma), *(by_variance[:, 0] * variance)], rtol=1e-5, atol=1e-6
    )


def test_improvements_far_from_the_front_are_finite_and_ordered():
    acquisition = log_expected_hypervolume_improvement(FRONTS[2], np.array([2.5, 2.5]))
    means = np.stack([np.linspace(-5.0, 1e4, 400)] * 2)
    value, by_mean, by_variance = acquisition(means, np.full((2, 400), 0.04))
    assert all(np.all(np.isfinite(part)) for part in (value, by_mean, by_variance))
    assert np.all(np.diff(value) < 0)
    assert np.all(np.isfinite(acquisition(FRONTS[2].T, np.zeros((2, 3)))[0]))


def test_one_objective_gives_expected_improvement():
    from addtree.search.acquisition import log_expected_improvement

    mean, variance = np.linspace(-2.0, 9.0, 12), np.linspace(0.1, 2.0, 12)
    joint = log_expected_hypervolume_improvement(np.array([[0.3]]), np.array([0.9]))(mean[None], variance[None])
    alone = log_expected_improvement(0.3)(mean, variance)
    for one, other in zip(joint, alone, strict=True):
        np.testing.assert_allclose(np.squeeze(one), other, rtol=1e-12)


def test_a_front_that_takes_too_many_boxes_is_thinned():
    F = np.random.default_rng(0).normal(size=(300, 6))
    value = log_expected_hypervolume_improvement(F, np.full(6, 4.0))(np.zeros((6, 3)), np.ones((6, 3)))[0]
    assert np.all(np.isfinite(value))


def test_the_reference_point_is_slightly_worse_than_the_front():
    front = np.array([[0.0, 5.0], [10.0, 5.0]])
    np.testing.assert_allclose(reference_point(front, margin=0.1), [11.0, 5.1])
    np.testing.assert_allclose(reference_point(front, margin=0.1, unit=20.0), [11.0, 7.0])
