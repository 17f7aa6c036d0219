import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from addtree import Categorical, Integer, Real
from addtree.errors import AddTreeError, ConfigError, SpaceError

finite = st.floats(allow_nan=False, allow_infinity=False)
unit = st.floats(0.0, 1.0)


@given(finite, finite, unit)
def test_a_real_round_trips(a, b, u):
    low, high = min(a, b), max(a, b)
    if low == high or not math.isfinite(high - low):
        return
    real = Real(low, high)
    value = real._decode(u)
    assert low <= value <= high
    assert 0.0 <= real._encode(value) <= 1.0
    spacing = max(abs(low), abs(high)) / (high - low) * 1e-15
    assert real._encode(value) == pytest.approx(u, abs=1e-12 + 4 * spacing)


@given(st.floats(-250, 250), st.floats(0.01, 300), unit)
def test_a_log_real_round_trips(exponent, decades, u):
    low = 10.0**exponent
    high = 10.0 ** min(exponent + decades, 300.0)
    if math.isinf(high / low):
        return
    real = Real(low, high, log=True)
    value = real._decode(u)
    assert low <= value <= high
    assert real._encode(value) == pytest.approx(u, abs=1e-11)


@given(st.integers(-1000, 1000), st.integers(1, 1000), st.booleans(), unit)
def test_an_integer_round_trips(low, width, log, u):
    if log:
        low = abs(low) + 1
    integer = Integer(low, low + width, log=log)
    for value in {low, low + width, low + width // 3}:
        assert integer._decode(integer._encode(value)) == value
    value = integer._decode(u)
    assert type(value) is int
    assert integer._encode(integer._decode(u)) == integer._encode(value)
    gap = [abs(integer._encode(v) - u) for v in range(low, low + width + 1)]
    if not log:
        assert abs(integer._encode(value) - u) <= min(gap) + 1e-12


@pytest.mark.parametrize("domain", [Real(-3, 7), Real(1e-4, 2.5, log=True), Integer(-3, 7), Integer(1, 900, log=True)])
def test_the_ends_come_out_exactly(domain):
    assert (domain._decode(0.0), domain._decode(1.0)) == (domain.low, domain.high)
    assert (domain._encode(domain.low), domain._encode(domain.high)) == (0.0, 1.0)
    assert (domain._decode(-0.5), domain._decode(1.5)) == (domain.low, domain.high)


def test_log_scale_is_uniform_in_orders_of_magnitude():
    real = Real(1e-4, 1, log=True)
    assert [real._decode(u) for u in (0.25, 0.5, 0.75)] == pytest.approx([1e-3, 1e-2, 1e-1])


def test_every_value_of_an_integer_has_its_own_cell():
    u = (np.arange(5000) + 0.5) / 5000
    values = [Integer(0, 4)._decode(code) for code in Integer(0, 4).grid.from_uniform(u)]
    assert np.bincount(values).tolist() == [1000] * 5
    log = Integer(1, 100, log=True)
    values = np.array([log._decode(code) for code in log.grid.from_uniform(u)])
    assert set(values) >= {1, 2, 100}
    assert np.mean(values <= 10) == pytest.approx(np.log(10.5 / 0.5) / np.log(100.5 / 0.5), abs=1e-3)


@pytest.mark.parametrize("integer", [Integer(0, 1), Integer(-3, 9), Integer(1, 500, log=True), Integer(7, 2**53)])
def test_a_cell_of_an_integer_contains_its_own_centre(integer):
    codes = integer.grid.from_uniform(np.linspace(0, 1, 301))
    np.testing.assert_allclose(integer.grid.from_uniform(integer.grid.to_uniform(codes)), codes, atol=1e-12)


def test_categories_round_trip_and_true_is_not_one():
    categorical = Categorical([0, False, 1, True, "1", None, 0.5])
    for i, value in enumerate(categorical.values):
        assert categorical._encode(value) == i
        assert categorical._decode(float(i)) is value
    assert categorical._check(np.int64(1)) == 1
    assert categorical._check(np.bool_(True)) is True
    assert categorical._check(np.str_("1")) == "1"


def test_numbers_of_numpy_and_fractions_become_plain():
    assert type(Real(0, 1)._check(np.float32(0.5))) is float
    assert Real(0, 1)._check(Fraction(1, 4)) == 0.25
    assert type(Integer(0, 9)._check(np.int8(3))) is int
    assert type(Integer(0, 9)._check(3.0)) is int


def test_sizes():
    assert Real(0, 1).size == math.inf
    assert Integer(-2, 3).size == 6
    assert Categorical("ab" for _ in range(1)).size == 1


# ------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Real(2, 1), ["Real(2.0, 1.0)", "swap"]),
        (lambda: Integer(5, 4), ["Integer(5, 4)", "low must not exceed high", "swap"]),
        (lambda: Real(0, 1, log="false"), ["log must be True or False", "'false'"]),
        (lambda: Integer(1, 9, log=1), ["log must be True or False", "1"]),
        (lambda: Real(0, 1, step=0.3), ["step=0.3", "not on the grid", "change high or step"]),
        (lambda: Real(0, 1, step=2), ["not on the grid"]),
        (lambda: Integer(0, 10, step=3), ["Integer(0, 10, step=3)", "not on the grid"]),
        (lambda: Integer(1, 9, step=2, log=True), ["log=True, step=2", "leave one out"]),
        (lambda: Real(1, 9, step=1, log=True), ["log=True, step=1.0", "leave one out"]),
        (lambda: Real(0, 1, step=0), ["step=0.0", "greater than zero"]),
        (lambda: Integer(0, 4, step=-2), ["step=-2", "greater than zero"]),
        (lambda: Integer(0, 4, step=0.5), ["step of Integer", "whole number"]),
        (lambda: Real(0, 1, step="a"), ["step of Real", "'a'"]),
        (lambda: Real(1e16, 1e16 + 8, step=0.5), ["floats cannot tell", "larger steps"]),
        (lambda: Real(0, 1, step=1e-17), ["floats cannot tell"]),
        (lambda: Integer(1, 2**60, log=True), ["2^53"]),
        (lambda: Integer(1, 2**50, log=True), ["log scale", "use Real"]),
        (lambda: Integer(0, Fraction(2**70, 3)), ["high of Integer", "whole number"]),
        (lambda: Integer(0, 10, step=3, opens=[1]), ["opens=[1]", "mapping"]),
        (lambda: Integer(0, 10**5000), ["high of Integer", "finite", "digits"]),
        (lambda: Categorical(["a", "b"], ordered="yes"), ["ordered must be True or False", "'yes'"]),
        (lambda: Real(0, 1, log=True), ["log=True", "low > 0", "leave log out"]),
        (lambda: Real(-1, 1, log=True), ["-1.0", "low > 0"]),
        (lambda: Integer(0, 9, log=True), ["Integer(0, 9, log=True)", "low > 0"]),
        (lambda: Real(math.nan, 1), ["low of Real", "finite", "nan"]),
        (lambda: Real(0, math.inf), ["high of Real", "finite", "inf"]),
        (lambda: Real("0", 1), ["low of Real", "'0'"]),
        (lambda: Real(False, True), ["low of Real", "False"]),
        (lambda: Real(0, 10**400), ["high of Real", "finite"]),
        (lambda: Real(-1.7e308, 1.7e308), ["too wide", "narrow"]),
        (lambda: Real(1e-200, 1e200, log=True), ["too wide", "narrow"]),
        (lambda: Integer(0.5, 2), ["low of Integer", "0.5", "use Real"]),
        (lambda: Integer(0, 10**400), ["high of Integer", "finite"]),
        (lambda: Integer(0, 2**60), ["2^53", "use Real"]),
        (lambda: Categorical([]), ["empty", "at least one"]),
        (lambda: Categorical("abc"), ["'abc'", "list"]),
        (lambda: Categorical(3), ["3", "list"]),
        (lambda: Categorical(["a", "b", "a"]), ["'a'", "twice", "remove"]),
        (lambda: Categorical([1, 1.0]), ["1.0", "twice"]),
        (lambda: Categorical([[1, 2]]), ["[1, 2]", "not hashable", "tuple"]),
        (lambda: Categorical([math.nan]), ["nan", "does not equal itself", "None"]),
    ],
)
def test_a_domain_that_cannot_work_says_what_to_do(make, words):
    with pytest.raises(SpaceError) as caught:
        make()
    assert isinstance(caught.value, (AddTreeError, ValueError))
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("domain", "value", "words"),
    [
        (Real(0, 1), 1.5, ["1.5", "out of bounds", "[0.0, 1.0]", "inside"]),
        (Real(0, 1), math.inf, ["inf", "out of bounds"]),
        (Real(0, 1), math.nan, ["nan", "not a real number"]),
        (Real(0, 1), "0.5", ["'0.5'", "not a real number", "float"]),
        (Real(0, 1), True, ["True", "not a real number"]),
        (Real(0, 1), None, ["None", "not a real number"]),
        (Real(0, 1), 10**400, ["out of bounds"]),
        (Integer(0, 9), 10, ["10", "out of bounds", "[0, 9]"]),
        (Integer(0, 9), 2.5, ["2.5", "whole number", "int"]),
        (Integer(0, 9), "3", ["'3'", "whole number"]),
        (Integer(0, 9), math.inf, ["inf", "whole number"]),
        (Integer(0, 9), True, ["True", "whole number"]),
        (Integer(0, 9), 10**400, ["out of bounds"]),
        (Categorical(["a", "b"]), "c", ["'c'", "'a', 'b'"]),
        (Categorical([0, 1]), True, ["True", "0, 1"]),
        (Categorical(["a", "b"]), ["a"], ["['a']", "'a', 'b'"]),
        (Categorical(["a", "b"]), np.array(["a", "b"]), ["'a', 'b'"]),
        (Categorical(range(30)), 99, ["99", "0, 1, 2", "..."]),
    ],
)
def test_a_value_that_does_not_belong_says_what_would(domain, value, words):
    with pytest.raises(ConfigError) as caught:
        domain._check(value)
    for word in words:
        assert word in str(caught.value)


# ------------------------------------------------------------------ steps, constants, order


def test_values_on_a_grid_are_those_a_person_would_write():
    assert list(Real(0, 1, step=0.1).values) == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert list(Real(-0.25, 0.5, step=0.25).values) == [-0.25, 0.0, 0.25, 0.5]
    assert list(Integer(8, 32, step=8).values) == [8, 16, 24, 32]
    assert Integer(1, 9, step=1) == Integer(1, 9)


@pytest.mark.parametrize(
    ("domain", "value", "found"),
    [
        (Real(0, 1, step=0.1), 0.1 + 0.2, 0.3),
        (Real(0, 1, step=0.25), 0.25 + 9e-10, 0.25),
        (Real(0, 1, step=0.25), 0.25 + 1e-9, 0.25),  # The difference of these floats is more than 1e-9.
        (Real(0.1, 0.7, step=0.1), 0.7000000000000001, 0.7),
        (Real(0, 1, step=0.25), -1e-10, 0.0),
        (Integer(8, 32, step=8), 16.0, 16),
        (Integer(0, 9), 3 + 5e-10, 3),
        (Integer(0, 9), 3 + 1e-9, 3),
    ],
)
def test_values_near_the_grid_are_snapped(domain, value, found):
    assert domain._check(value) == found
    assert domain._decode(domain._encode(domain._check(value))) == found


@pytest.mark.parametrize(
    ("domain", "value", "words"),
    [
        (Real(0, 1, step=0.25), 0.3, ["0.3", "steps of 0.25", "nearest is 0.25"]),
        (Real(0, 1, step=0.25), 0.25 + 2e-9, ["not on the grid", "0.25"]),
        (Real(0, 1, step=0.25), 1.25, ["out of bounds"]),
        (Integer(8, 32, step=8), 15, ["15", "steps of 8", "nearest is 16"]),
        (Integer(8, 32, step=8), 40, ["out of bounds"]),
        (Integer(3, 3), 4, ["out of bounds"]),
    ],
)
def test_values_off_the_grid_are_refused(domain, value, words):
    with pytest.raises(ConfigError) as caught:
        domain._check(value)
    for word in words:
        assert word in str(caught.value)


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.integers(1, 1000), st.integers(0, 1000))
def test_a_stepped_real_round_trips(low, step, n, k):
    high = low + n * step
    real = Real(low, high, step=step)
    assert real.size == n + 1
    value = real._value(min(k, n))
    assert real._check(value) == value
    assert real._decode(real._encode(value)) == value
    assert real._check(low + min(k, n) * step) == value


@pytest.mark.parametrize("constant", [Real(0.5, 0.5), Integer(3, 3), Real(2, 2, log=True), Integer(4, 4, step=2)])
def test_a_constant_has_one_value(constant):
    assert constant.is_constant
    assert constant.size == 1
    assert list(constant.values) == [constant.low]
    assert constant._decode(0.7) == constant._check(constant.low) == constant.low
    assert str(constant) == f"constant {constant.low}"


def test_ordered_categories_are_evenly_spaced_numbers():
    sizes = Categorical(["low", "mid", "high"], ordered=True)
    assert [sizes._encode(v) for v in sizes.values] == [0.0, 0.5, 1.0]
    assert [sizes._decode(c) for c in (0.2, 0.3, 0.9)] == ["low", "mid", "high"]
    assert sizes.is_numeric


def test_equality_ignores_the_order_of_categories_unless_they_are_ordered():
    assert Categorical(["a", "b"]) == Categorical(["b", "a"])
    assert hash(Categorical(["a", "b"])) == hash(Categorical(["b", "a"]))
    assert Categorical(["a", "b"], ordered=True) != Categorical(["b", "a"], ordered=True)
    assert Categorical(["a", "b"], ordered=True) != Categorical(["a", "b"])
    assert Categorical([1, 2]) != Categorical([True, 2])


def test_any_hashable_value_may_be_a_category_but_only_scalars_are_saved():
    layers = Categorical([(64, 64), (128,), frozenset("ab")])
    assert layers._check((128,)) == (128,)
    assert layers._decode(layers._encode((64, 64))) == (64, 64)
    with pytest.raises(SpaceError, match=r"\(64, 64\) is of type tuple and cannot be saved"):
        layers.to_dict()


# ------------------------------------------------------------------ exact numbers


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("low", [2**53, 2**62, 10**17, 10**200, 2**53 - 3])
@pytest.mark.parametrize("width", [1, 5, 10**6])
def test_large_integers_are_exact(low, width, log):
    integer = Integer(low, low + width, log=log)
    for value in {low, low + 1, low + width // 2, low + width - 1, low + width}:
        assert integer._decode(integer._encode(value)) == value
    u = np.linspace(0, 1, 50)
    drawn = [integer._decode(code) for code in integer.grid.from_uniform(u)]
    assert drawn == sorted(drawn)
    assert (drawn[0], drawn[-1]) == (low, low + width)


@given(st.integers(1, 2**70), st.integers(1, 2**53), st.floats(0, 1))
def test_every_integer_range_works_or_is_refused(low, width, u):
    for log in (False, True):
        if log and (low + width) * math.log1p(width / low) > 2**49 and width > low / 1000:
            with pytest.raises(SpaceError, match="log scale"):
                Integer(low, low + width, log=log)
            continue
        integer = Integer(low, low + width, log=log)
        value = low + round(u * width)
        assert integer._decode(integer._encode(value)) == value
        assert low <= integer._decode(u) <= low + width


floats = st.floats(allow_nan=False, allow_infinity=False)


@given(floats, floats, st.booleans(), unit)
def test_every_range_of_floats_works_or_is_refused(a, b, log, u):
    low, high = min(a, b), max(a, b)
    if (log and low <= 0) or not math.isfinite(high / low if log else high - low):
        with pytest.raises(SpaceError, match=r"log scale|too wide"):
            Real(low, high, log=log)
        return
    real = Real(low, high, log=log)
    value = real._decode(u)
    assert low <= value <= high
    assert 0.0 <= real._encode(value) <= 1.0
    if real.size < math.inf:  # few floats are told apart
        assert real._decode(real._encode(value)) == value


def test_a_narrow_real_has_few_values():
    real = Real(1.0, 1.0 + 2**-50)
    assert real.size == 5
    assert str(real) == "real [1.0, 1.0000000000000009]"
    assert list(real.values) == [1.0 + k * 2**-52 for k in range(5)]
    assert [real._decode(real._encode(v)) for v in real.values] == list(real.values)
    assert Real(-1e-323, 1e-323).size == 5
    assert Real(0, 1).size == math.inf
