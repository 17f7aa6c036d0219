import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern

from addtree.model.kernel import matern52, squared_exponential, stack, with_slope
from tests.model.test_terms import TWO
from tests.strategies import build, data, differences


@pytest.mark.parametrize(("kernel", "reference"), [(squared_exponential, RBF()), (matern52, Matern(nu=2.5))])
def test_kernels_of_the_squared_distance(kernel, reference):
    r = np.linspace(0.0, 4.0, 30)
    value, slope = with_slope(r**2, len(r) if kernel is squared_exponential else 0)
    np.testing.assert_allclose(value, reference(r[:, None], [[0.0]])[:, 0], rtol=1e-12)
    np.testing.assert_allclose(kernel(r**2), value, rtol=1e-12)
    numeric = [differences(lambda v: kernel(v)[0], np.array([u]))[0] for u in r[1:] ** 2]
    np.testing.assert_allclose(slope[1:], numeric, rtol=1e-6, atol=1e-9)
    assert value[0] == 1.0


def test_pairs_of_smooth_terms_come_before_those_of_rough_ones():
    r2 = np.linspace(0.0, 4.0, 30)
    value, _ = with_slope(r2, 10)
    np.testing.assert_allclose(value, [*squared_exponential(r2[:10]), *matern52(r2[10:])], rtol=1e-12)


def test_rows_are_sliced_and_stacked():
    encoding, k = build(TWO, "additive+interactions")
    rows, _ = data(encoding, k, 6, 0)
    both = stack(rows[:2], rows[2:])
    for one, other in ((both.X, rows.X), (both.active, rows.active), (both.features, rows.features)):
        np.testing.assert_array_equal(one, other)
