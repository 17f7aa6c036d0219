import faulthandler
import logging

import numpy as np
import pytest

from addtree.model.cholesky import BlockCholesky, connected_blocks


@pytest.fixture(autouse=True)
def _no_endless_loop():
    faulthandler.dump_traceback_later(60, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


def spd(n, seed):
    A = np.random.default_rng(seed).normal(size=(n, n))
    return A @ A.T + np.eye(n)


def blocked(*sizes):
    """A matrix of these blocks, its rows shuffled, and the rows of each block."""
    n = sum(sizes)
    order = np.random.default_rng(n).permutation(n)
    K, blocks, at = np.zeros((n, n)), [], 0
    for size in sizes:
        rows = np.sort(order[at : at + size])
        K[np.ix_(rows, rows)] = spd(size, size)
        blocks.append(rows)
        at += size
    return K, blocks


def check(factor, K):
    n = len(K)
    B = np.random.default_rng(0).normal(size=(n, 2))
    np.testing.assert_allclose(factor.solve(B), np.linalg.solve(K, B), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(factor.solve(B[:, 0]), np.linalg.solve(K, B[:, 0]), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(factor.inverse(), np.linalg.inv(K), rtol=1e-9, atol=1e-10)
    assert factor.log_determinant() == pytest.approx(np.linalg.slogdet(K)[1])
    half = factor.half_solve(B)
    np.testing.assert_allclose(half.T @ half, B.T @ np.linalg.solve(K, B), rtol=1e-9)
    assert factor.size == n


def test_blocks_equal_the_whole():
    K, blocks = blocked(3, 1, 4)
    check(BlockCholesky.factorize(K, blocks), K)
    check(BlockCholesky.factorize(K, [np.arange(8)]), K)


@pytest.mark.parametrize("joins", [[], [0], [1], [0, 2], [0, 1, 2]])
def test_appended_equals_fresh_also_when_blocks_are_joined(joins):
    K, blocks = blocked(3, 1, 4)
    factor = BlockCholesky.factorize(K, blocks)
    cross = np.zeros((8, 2))
    for b in joins:
        cross[blocks[b]] = 0.3 * np.random.default_rng(b).normal(size=(len(blocks[b]), 2))
    corner = spd(2, 9) + 2.0 * np.eye(2)
    full = np.block([[K, cross], [cross.T, corner]])
    new = factor.append(cross, corner)
    check(new, full)
    assert len(new.blocks) == 3 - len(joins) + 1
    assert all(L.flags.f_contiguous for _, L in new.blocks)  # LAPACK would copy another order at every call
    again = new.append(full[:, :1] * 0.01, np.array([[5.0]]))
    check(again, np.block([[full, full[:, :1] * 0.01], [full[:1] * 0.01, np.array([[5.0]])]]))


def test_append_to_nothing():
    factor = BlockCholesky.factorize(np.empty((0, 0)), connected_blocks(np.empty((0, 2), dtype=bool)))
    K = spd(3, 0)
    check(factor.append(np.empty((0, 3)), K), K)


def test_blocks_are_connected_through_chains():
    active = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)
    assert [b.tolist() for b in connected_blocks(active)] == [[0, 1, 2], [3], [4]]
    assert [b.tolist() for b in connected_blocks(np.ones((3, 1), dtype=bool))] == [[0, 1, 2]]


def test_blocks_are_found_through_long_chains_of_shared_terms():
    chain = np.eye(30, dtype=bool) | np.eye(30, k=1, dtype=bool)  # row i shares a term with row i + 1 alone
    order = np.random.default_rng(0).permutation(30)
    assert [b.tolist() for b in connected_blocks(chain[order])] == [list(range(30))]
    chain[14] = False
    chain[14, 14] = True  # cut: row 14 shares a term with row 13 alone
    found = connected_blocks(chain)
    assert [b.tolist() for b in found] == [list(range(15)), list(range(15, 30))]


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_a_singular_matrix_gets_as_little_as_will_do(scale):
    K = scale * np.ones((4, 4))
    factor = BlockCholesky.factorize(K, [np.arange(4)])
    ((_, L),) = factor.blocks
    np.testing.assert_allclose(L @ L.T, K, rtol=1e-6)


def test_a_matrix_without_a_factor_is_an_error_not_an_endless_loop():
    with pytest.raises(np.linalg.LinAlgError, match="2 rows"):
        BlockCholesky.factorize(np.array([[1.0, 3.0], [3.0, 1.0]]), [np.arange(2)])


def test_what_rounding_makes_indefinite_cannot_be_appended():
    factor = BlockCholesky.factorize(np.ones((1, 1)), [np.arange(1)])
    for cross in (1.0, 1.0 + 1e-9):  # the corner that is left is zero, or below it
        assert factor.append(np.array([[cross]]), np.ones((1, 1))) is None


def test_what_is_added_to_a_singular_matrix_is_logged_once(caplog):
    K = np.ones((3, 3)) - 1e-9 * np.eye(3)  # several additions are tried before one suffices
    with caplog.at_level(logging.DEBUG, logger="addtree"):
        BlockCholesky.factorize(K, [np.arange(3)])
    assert [record.getMessage() for record in caplog.records] == [
        "covariance of 3 rows is singular to rounding; added 1.0e-08 to its diagonal"
    ]
