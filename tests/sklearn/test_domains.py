import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from addtree import Categorical, Integer, Real, SpaceError
from addtree.sklearn.domains import labels_for, read_domain


def values(read):
    return [read.decode(label) for label in read.domain.values]


@pytest.mark.parametrize(
    ("distribution", "domain"),
    [
        (stats.uniform(2, 3), Real(2, 5)),
        (stats.uniform, Real(0, 1)),
        (stats.uniform(loc=-1, scale=0.5), Real(-1, -0.5)),
        (stats.loguniform(1e-3, 10), Real(1e-3, 10, log=True)),
        (stats.reciprocal(1, 8), Real(1, 8, log=True)),
        (stats.loguniform(1, 10, scale=2), Real(2, 20, log=True)),
        (stats.randint(1, 9), Integer(1, 8)),
        (stats.randint(1, 9, loc=10), Integer(11, 18)),
    ],
)
def test_simple_distributions_become_numbers(distribution, domain):
    assert read_domain(distribution).domain == domain


def test_a_uniform_parameter_is_never_at_a_bound():
    read = read_domain(stats.uniform(0, 4))
    assert 0 < read.decode(0.0) < 1e-5
    assert 4 - 1e-5 < read.decode(4.0) < 4
    assert read.decode(1.5) == 1.5


@pytest.mark.parametrize(
    "distribution", [stats.norm(3, 2), stats.expon(scale=100), stats.loguniform(1, 10, loc=5), stats.beta(2, 5)]
)
def test_other_distributions_are_searched_through_their_quantiles(distribution):
    read = read_domain(distribution)
    assert isinstance(read.domain, Real)
    for probability in (read.domain.low, 0.3, read.domain.high):
        value = read.decode(probability)
        assert isinstance(value, float)
        assert math.isfinite(value)
        assert distribution.cdf(value) == pytest.approx(probability)


@pytest.mark.parametrize("distribution", [stats.poisson(5), stats.binom(10, 0.3), stats.geom(0.01)])
def test_a_discrete_distribution_becomes_ordered_values(distribution):
    read = read_domain(distribution)
    assert isinstance(read.domain, Categorical)
    assert read.domain.ordered
    found = values(read)
    assert all(isinstance(value, int) for value in found)
    assert found == sorted(set(found))
    assert found[0] == distribution.ppf(1e-3)
    assert found[-1] == distribution.ppf(1 - 1e-3)


def test_a_discrete_distribution_may_have_fractions():
    distribution = stats.rv_discrete(values=([0, 1, 2], [0.2, 0.3, 0.5]))
    assert values(read_domain(distribution)) == [0, 1, 2]


def test_distributions_with_other_arguments_are_told_apart():
    assert read_domain(stats.norm(0, 1)).key == read_domain(stats.norm(0, 1)).key
    assert read_domain(stats.norm(0, 1)).key != read_domain(stats.norm(0, 2)).key
    assert read_domain(stats.norm(0, 1)).key != read_domain(stats.logistic(0, 1)).key
    assert read_domain(stats.uniform(0, 1)).key == read_domain(stats.uniform(loc=0, scale=1)).key


# ---------------------------------------------------------------------- lists


@given(st.lists(st.one_of(st.integers(-5, 5), st.floats(allow_nan=False, allow_infinity=False)), min_size=2))
def test_a_list_of_numbers_is_ordered(numbers):
    read = read_domain(numbers)
    assert values(read) == sorted(set(numbers))
    assert read.domain.ordered == (len(set(numbers)) > 1)


@pytest.mark.parametrize("listed", [[None, 1, 2], ["a", "b"], [True, False], [1.0, math.inf, math.nan], [1, 10**400]])
def test_other_lists_are_not_ordered(listed):
    read = read_domain(listed)
    assert not read.domain.ordered
    assert list(map(str, values(read))) == list(map(str, listed))


def test_items_need_not_be_hashable():
    listed = [SVC(), SVC(), StandardScaler(), [1, 2], np.arange(3), {"a": 1}, None, "SVC()"]
    found = values(read_domain(listed))
    assert all(a is b for a, b in zip(found, listed, strict=True))


def test_arrays_and_ranges_are_lists():
    assert values(read_domain(np.array([3, 1]))) == [1, 3]
    assert values(read_domain(range(3))) == [0, 1, 2]
    rows = np.arange(6).reshape(3, 2)
    assert [value.tolist() for value in values(read_domain(rows))] == rows.tolist()


def test_labels_are_scalars_that_differ():
    found = labels_for(["a", 1, True, None, SVC(C=2), SVC(C=2), math.nan, list(range(1000))])
    assert found[:7] == ["a", 1, True, None, "SVC(C=2)", "SVC(C=2) (2)", "nan"]
    assert len(found[7]) == 80


class NoQuantiles:
    def rvs(self, random_state=None):
        return 0.5


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        ("linear", "put a single value into a list"),
        (3, "put a single value into a list"),
        ({1, 2}, "neither a list"),
        (np.array(1.0), "neither a list"),
        (Real(0, 1), "belongs in a Space"),
        ([], "empty"),
        (stats.uniform(0, -1), "has no values"),
        (stats.randint(3, 3), "has no values"),
        (NoQuantiles(), "no method ppf"),
        (stats.multivariate_normal([0, 0]), "no method ppf"),
    ],
)
def test_what_cannot_be_searched_is_refused(listed, message):
    with pytest.raises(SpaceError, match=message):
        read_domain(listed)
