import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from addtree.model.transform import Transform, TransformSettings, yeo_johnson

S = np.array([-3.0, -0.7, -1e-9, 0.0, 1e-9, 0.4, 2.5, 30.0])
POWERS = [-1.0, -0.3, 0.0, 1e-5, 0.5, 1.0, 1.7, 2.0 - 1e-5, 2.0, 3.0]


@pytest.mark.parametrize("power", POWERS)
def test_yeo_johnson_is_that_of_scipy(power):
    np.testing.assert_allclose(yeo_johnson(S, power)[0], stats.yeojohnson(S, power), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("power", [-0.9, -0.3, 0.0, 1e-5, 2e-4, 0.5, 1.0, 1.7, 2.0, 2.9])
def test_derivative_by_the_exponent(power):
    z, by_power, _log_jacobian, jacobian_by_power = yeo_johnson(S, power)
    h = 1e-5
    up, down = yeo_johnson(S, power + h), yeo_johnson(S, power - h)
    np.testing.assert_allclose(by_power, (up[0] - down[0]) / (2 * h), rtol=1e-5, atol=1e-8)
    assert jacobian_by_power == pytest.approx((up[2] - down[2]) / (2 * h))
    smooth = S[np.abs(S) > 1e-3]
    slopes = (yeo_johnson(smooth + 1e-6, power)[0] - yeo_johnson(smooth - 1e-6, power)[0]) / 2e-6
    assert yeo_johnson(smooth, power)[2] == pytest.approx(np.sum(np.log(slopes)), rel=1e-5, abs=1e-5)
    assert np.all(np.diff(z) >= 0)


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=8), st.sampled_from(POWERS), st.booleans())
def test_inverse_undoes_forward(values, power, centred):
    y = np.array(values)
    output = Transform.from_values(y, centred=centred, settings=None).with_power(power)
    spread = max(np.ptp(y), np.max(np.abs(y)))
    np.testing.assert_allclose(output.inverse(output.forward(y)), y, rtol=1e-6, atol=1e-7 * spread + 1e-300)


def test_standardised_values_have_mean_zero_and_variance_one():
    y = np.array([3.0, 8.0, 1.0, 4.0])
    s = Transform.from_values(y, centred=True, settings=None).standardise(y)
    assert s.mean() == pytest.approx(0.0)
    assert s.std() == pytest.approx(1.0)
    s = Transform.from_values(y, centred=False, settings=None).standardise(y)
    assert np.mean(s**2) == pytest.approx(1.0)
    np.testing.assert_allclose(s / s[0], y / y[0])


def test_wild_values_are_squeezed_above_alone_and_stay_in_order():
    y = np.array([0.0, 1.0, 2.0, 3.0, 1e12])
    output = Transform.from_values(y, centred=True, settings=TransformSettings())
    assert (output.cap, output.width) == (6.0, 1.0)
    assert output.scale < 10.0  # the scale is that of the squeezed values
    steps = np.diff(output.forward(np.array([5.0, 6.0, 7.0, 8.0, 20.0, 100.0])))
    assert np.all(steps > 0)
    assert steps[1] == pytest.approx(np.log1p(1) * steps[0])  # begins as steep as below the cap
    low = Transform.from_values(-y, centred=True, settings=TransformSettings())
    np.testing.assert_allclose(low.inverse(low.forward(-y)), -y)
    assert low.forward(np.array([-1e12]))[0] < -1


def test_values_that_gather_at_the_optimum_do_not_squeeze_the_others():
    explored = np.linspace(0.0, 1.0, 100)
    gathered = np.concatenate([explored, 1e-9 * np.arange(400)])
    settings = TransformSettings()
    assert Transform.from_values(gathered, centred=True, settings=settings).cap > 1.0
    few = Transform.from_values(explored, centred=True, settings=settings)
    assert few.cap == pytest.approx(0.5 + 0.5 * settings.cap), "the median of all values, if they are few"


def test_what_is_squeezed_can_be_had_back():
    y = np.array([0.0, 1.0, 2.0, 3.0, 6.5, 12.0, 30.0])
    output = Transform.from_values(y, centred=True, settings=TransformSettings()).with_power(0.6)
    assert output.cap < 10.0
    np.testing.assert_allclose(output.inverse(output.forward(y)), y, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("unit", [5e-324, 1e-320, 1e-300, 1e-3, 1.0, 1e3, 1e300, 1.7e308])
@pytest.mark.parametrize("pattern", [[1.0], [1, 1, 1], [0, 1], [-1, 1], [-1, -1, 1], [0, 0, 0, 1], [1, 0.5, 0.25, 0]])
@pytest.mark.parametrize("centred", [True, False])
def test_no_scale_is_too_large_or_too_small(unit, pattern, centred):
    y = unit * np.array(pattern)
    output = Transform.from_values(y, centred=centred, settings=TransformSettings()).with_power(0.7)
    z = output.forward(y)
    assert np.all(np.isfinite(z))
    assert np.max(np.abs(z)) < 10
    assert np.all(np.isfinite(output.inverse(np.array([0.0, *z]))))
    if unit > 1e-310:
        np.testing.assert_allclose(output.inverse(z), y, rtol=1e-6, atol=1e-9 * unit)


def test_values_may_span_all_floats():
    y = np.array([1e-300, 2e-300, 3e-300, 1e300])
    output = Transform.from_values(y, centred=True, settings=TransformSettings()).with_power(0.7)
    assert np.all(np.diff(output.forward(y)) > 0)
    assert np.all(np.isfinite(output.variance(y, np.ones(len(y)))))


def test_a_z_beyond_the_range_of_the_transform_gives_its_limit():
    output = Transform(0.0, 1.0, np.inf, 1.0, -0.5)  # z < 2 for every y
    assert np.isfinite(output.inverse(np.array([1.9, 2.0, 50.0]))).all()
    assert np.all(np.diff(output.inverse(np.array([0.0, 1.0, 1.9, 50.0]))) > 0)


def test_more_excess_keeps_the_order_of_far_values():
    y = np.concatenate([np.linspace(0.0, 1e-3, 50), [1.0, 5.0, 25.0]])
    bounded = Transform.from_values(y, centred=True, settings=TransformSettings())
    free = Transform.from_values(y, centred=True, settings=TransformSettings(max_excess=1e6))
    assert len(set(bounded.forward(y[-3:]))) == 1
    assert np.all(np.diff(free.forward(y)) > 0)
    np.testing.assert_allclose(free.inverse(free.forward(y)), y, atol=1e-9)


def test_the_spread_can_be_that_of_a_part_of_the_values():
    y = np.concatenate([np.linspace(0.0, 1e-3, 50), [1.0, 5.0, 25.0]])
    wide = Transform.from_values(y, centred=True, settings=TransformSettings(least_spread=20.0))
    np.testing.assert_allclose(wide.forward(y), (y - y.mean()) / y.std(), atol=1e-12)  # nothing is compressed


def test_bounds_and_errors_may_be_any_distance_from_the_values():
    output = Transform.from_values(np.array([1e-300, 2e-300, 3e-300]), centred=True).with_power(3.0)
    z = [output.bound(y) for y in (-np.inf, -1e300, 0.0, 2.5e-300, 1e300, np.inf)]
    assert (z[0], z[-1]) == (-np.inf, np.inf)
    assert np.all(np.diff(z) > 0)
    assert np.all(np.isfinite(np.square(z[1:-1])))
    assert z[3] == output.forward(np.array([2.5e-300]))[0]
    variances = output.variance(np.full(3, 2e-300), np.array([0.0, 1e-300, 1e300]))
    assert variances[0] == 0.0 < variances[1] < variances[2] < np.inf
