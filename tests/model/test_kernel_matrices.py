import numpy as np

from addtree.model.kernel_matrices import CrossCovariance, GramMatrix
from tests.model.test_terms import TWO
from tests.strategies import build, hyperparameters


def test_a_term_across_choices_sees_inactive_as_a_category_of_its_own():
    encoding, k = build(TWO, "additive+interactions")
    hyper = hyperparameters(encoding, k)
    configs = [{"x": 0.5, "c": c, "d": d} | ({"y": 0.5} if c == "a" else {}) | ({"z": 0.5} if d == 1 else {})
               for c in "ab" for d in (1, 2)]  # fmt: skip
    rows = k.rows(encoding.encode(configs))
    (t,) = [t for t, term in enumerate(k.terms) if len(term.columns) == 5]
    cross = CrossCovariance(k, hyper, rows)
    K = cross.value(rows.only(np.arange(len(k.terms)) == t))
    assert len({round(float(v), 9) for v in K[0]}) == 4  # all four paths differ
    np.testing.assert_allclose(GramMatrix(k, rows).value(hyper), cross.value(rows), atol=1e-9)
