"""Cholesky factors of block-diagonal covariance matrices.

Rows that share no active term are independent, so the matrix of a tree without a shared root consists of blocks (the
paper's appendix B). Each block is factorised alone. A factor is immutable; appending rows returns a new one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import block_diag
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs, dtrtrs

from addtree._types import Array, Index, Mask

_log = logging.getLogger("addtree")

_JITTERS = 10.0 ** np.arange(-15, 1)  # Multiples of the mean variance that are added to the diagonal, tried in turn.


def connected_blocks(active: Mask) -> tuple[Index, ...]:
    """The rows (n x T activity) of each connected component of the graph that joins rows sharing an active term."""
    n, T = active.shape
    if active.all(axis=0).any():  # one term joins all rows, as a parameter at the root does
        return (np.arange(n),) if n else ()
    from scipy.sparse import csr_array  # imported here because most trees never need it, and it takes time
    from scipy.sparse.csgraph import connected_components

    term = active.nonzero()[1]  # the graph has an edge from row i to node n + t if term t is active in it
    ends = np.full(n + T + 1, len(term))
    ends[: n + 1] = np.concatenate([[0], np.cumsum(active.sum(axis=1))])
    graph = csr_array((np.ones(len(term)), n + term, ends), shape=(n + T, n + T))
    labels = connected_components(graph, directed=False)[1][:n]
    return tuple(np.flatnonzero(labels == label) for label in dict.fromkeys(labels.tolist()))


def _cholesky(K: Array, variances: Array) -> Array:
    """Lower factor of K; if rounding has made K indefinite, of K plus the least jitter that restores it.

    Only the lower triangle is read. The mean of `variances` is the scale of rounding errors.
    """
    L, info = dpotrf(K, lower=1, clean=1)
    if info != 0:
        for jitter in (float(np.mean(variances)) or 1.0) * _JITTERS:
            L, info = dpotrf(K + jitter * np.eye(len(K)), lower=1, clean=1)
            if info == 0:
                _log.debug("covariance of %d rows is singular to rounding; added %.1e to its diagonal", len(K), jitter)
                break
        else:
            raise np.linalg.LinAlgError(f"a covariance matrix of {len(K)} rows has no Cholesky factor")
    return np.asarray(L)


@dataclass(frozen=True)
class BlockCholesky:
    """Lower Cholesky factors L of the diagonal blocks of K: per block its rows in K, and L."""

    blocks: tuple[tuple[Index, Array], ...]
    size: int

    @classmethod
    def factorize(cls, K: Array, blocks: Sequence[Index]) -> BlockCholesky:
        """Factorise K, which is zero outside these blocks."""
        return cls.factorize_blocks(blocks, [K] if len(blocks) == 1 else [K[np.ix_(rows, rows)] for rows in blocks])

    @classmethod
    def factorize_blocks(cls, blocks: Sequence[Index], matrices: Sequence[Array]) -> BlockCholesky:
        """Factorise a K whose blocks are these matrices, of which the lower triangles count."""
        variances = np.concatenate([np.diagonal(matrix) for matrix in matrices]) if matrices else np.empty(0)
        factors = (_cholesky(matrix, variances) for matrix in matrices)
        return cls(tuple(zip(blocks, factors, strict=True)), len(variances))

    def _by_block(self, function: Callable[[Array, Array], Array], B: Array) -> Array:
        """Apply function(L, B[rows]) to every block."""
        if len(self.blocks) == 1 and self._in_order:
            return function(self.blocks[0][1], B)
        out = np.empty_like(B)
        for rows, L in self.blocks:
            out[rows] = function(L, B.T[..., rows].T)  # column by column, as LAPACK wants it
        return out

    @cached_property
    def _in_order(self) -> bool:
        rows = self.blocks[0][0]
        return bool(np.all(rows[1:] > rows[:-1]))

    def solve(self, B: Array) -> Array:
        """K⁻¹ B."""
        return self._by_block(lambda L, b: dpotrs(L, b, lower=1)[0], B)

    def half_solve(self, B: Array) -> Array:
        """L⁻¹ B, rows in the order of K: its squared column norms are those of B under K⁻¹."""
        return self._by_block(lambda L, b: dtrtrs(L, b, lower=1)[0], B)

    def inverses(self) -> list[Array]:
        """K⁻¹ by blocks, lower triangles with zeros above."""
        return [dpotri(L, lower=1)[0] for _, L in self.blocks]

    def inverse(self) -> Array:
        """K⁻¹, dense."""
        out = np.zeros((self.size, self.size))
        for (rows, _), lower in zip(self.blocks, self.inverses(), strict=True):
            out[np.ix_(rows, rows)] = lower + np.tril(lower, -1).T
        return out

    def log_determinant(self) -> float:
        """log |K|."""
        return 2.0 * float(sum(np.sum(np.log(np.diagonal(L))) for _, L in self.blocks))

    def append(self, cross: Array, corner: Array) -> BlockCholesky | None:
        """The factor of [[K, cross], [crossᵀ, corner]]; the blocks that the new rows touch become one.

        None if rounding has made it indefinite. If K is almost singular, errors are far larger here than in a factor
        from scratch.
        """
        touched = [bool(np.any(cross[rows])) for rows, _ in self.blocks]
        old = [block for block, hit in zip(self.blocks, touched, strict=True) if hit]
        kept = [block for block, hit in zip(self.blocks, touched, strict=True) if not hit]
        rows = np.concatenate([rows for rows, _ in old]) if old else np.empty(0, dtype=np.intp)
        n, m, k = self.size, len(rows), len(corner)
        L = np.zeros((m + k, m + k), order="F")  # LAPACK would copy another order at every call
        if m:
            L[:m, :m] = known = old[0][1] if len(old) == 1 else block_diag(*(block for _, block in old))
            C = dtrtrs(known, cross[rows], lower=1)[0]
            L[m:, :m] = C.T
            corner = corner - C.T @ C
        L[m:, m:], info = dpotrf(corner, lower=1, clean=1)
        if info != 0:
            return None
        return BlockCholesky((*kept, (np.concatenate([rows, np.arange(n, n + k)]), L)), n + k)
