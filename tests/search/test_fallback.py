import numpy as np

from addtree import Integer, Space
from addtree.search.fallback import new_row


def test_a_new_row_is_found_where_a_rule_leaves_few_and_samples_repeat_themselves():
    """One value alone cannot change, so that random walks among valid rows stay where they start."""
    encoding = Space(x=Integer(0, 299), y=Integer(0, 299)).where("x == y").encoding
    sampled = set(encoding.keys(encoding.sample(5000, np.random.default_rng(0))))
    assert len(sampled) < 150
    row = new_row(encoding, sampled, None, np.random.default_rng(1))
    assert row is not None
    assert row[0] == row[1]


def test_there_is_no_new_row_if_all_are_taken():
    for n_most in (9, 299):  # few enough to be listed, and too many
        encoding = Space(x=Integer(0, n_most), y=Integer(0, n_most)).where("x == y").encoding
        codes = np.linspace(0.0, 1.0, n_most + 1)
        taken = set(encoding.keys(np.stack([codes, codes], axis=1)))
        assert new_row(encoding, taken, None, np.random.default_rng(0)) is None


def test_rows_that_can_be_listed_are_not_sampled():
    """The only random numbers are those of the order in which they are tried."""
    encoding = Space(x=Integer(0, 9)).encoding
    first, *others = np.random.default_rng(0).permutation(encoding.enumerate())
    np.testing.assert_array_equal(new_row(encoding, set(), None, np.random.default_rng(0)), first)
    np.testing.assert_array_equal(
        new_row(encoding, set(encoding.keys(np.array([first]))), None, np.random.default_rng(0)), others[0]
    )
