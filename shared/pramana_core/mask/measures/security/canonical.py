"""Canonical correlations of X with Y given S, over all records and within pieces of S.

Over all records they can be 0 although Y tells X exactly, as when Y is X for the young and -X for
the old; within intervals of S they are then 1 (AlAhmadi VI.1.2, table 4). Given S by a straight
line, a curve that X and Y share by way of S looks like a disclosure; it is none. So the fitted
E(X|S) and E(Y|S) of a kernel can be given, too (AlAhmadi, table 17).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from pramana_core.mask.measures.core.pieces import Rows, pieces_of
from pramana_core.mixed.design import basis_of, residual, with_constant
from pramana_core.mixed.table import Floats
from pramana_core.ties import first_largest

MOST_PIECES = 8
FEWEST_RECORDS = 25
"""A piece has at least this many records beyond four for each column involved."""


@dataclass(frozen=True)
class Canonical:
    """Canonical correlations and the test that all of them are zero.

    Attributes:
        correlations: from the largest down, 0 to 1; empty if X or Y has nothing left given S, or if
            there are so few records that some correlation would be 1 whatever Y is.
        statistic: Bartlett's of Wilks' lambda, chi-square if X and Y are independent given S.
        freedom: its degrees of freedom.
        p: the probability of a statistic at least as large by chance.
        error: the standard error of the largest correlation.
        chance: the largest correlation that chance reaches once in twenty.
        records: how many records it was computed on.
    """

    correlations: tuple[float, ...]
    statistic: float
    freedom: int
    p: float
    error: float
    chance: float
    records: int

    @property
    def largest(self) -> float:
        """The largest correlation; 0 if there is none."""
        return self.correlations[0] if self.correlations else 0.0


@dataclass(frozen=True)
class Piecewise:
    """The canonical correlations within each piece of S.

    Attributes:
        pieces: those of each piece.
        p: the smallest of their probabilities times the number of pieces (Bonferroni), at most 1.
    """

    pieces: tuple[Canonical, ...]
    p: float

    @property
    def largest(self) -> Canonical:
        """The piece with the largest correlation."""
        return self.pieces[first_largest([piece.largest for piece in self.pieces], scale=1.0)]


def canonical(true: Floats, masked: Floats, given: Floats, *, tests: int = 1) -> Canonical:
    """Return the canonical correlations of X and Y given some columns.

    Args:
        true: X, n x q.
        masked: Y, n x k.
        given: what both are regressed on first, besides the constant, n x p; p may be 0.
        tests: how many such tests are made together; `chance` is then the largest of all that
            chance reaches once in twenty.
    """
    basis = basis_of(with_constant(given))
    left, right = _residual_basis(true, basis), _residual_basis(masked, basis)
    records = len(true)
    freedom = left.shape[1] * right.shape[1]
    weight = records - basis.shape[1] - (left.shape[1] + right.shape[1] + 1) / 2
    if not freedom or records - basis.shape[1] <= left.shape[1] + right.shape[1]:
        return Canonical((), 0.0, 0, 1.0, 0.0, 0.0, records)
    found = np.clip(np.linalg.svd(left.T @ right, compute_uv=False), 0.0, 1.0)
    unexplained = 1 - found**2
    unexplained[unexplained < 1e-12] = 0.0
    with np.errstate(divide="ignore"):
        statistic = float(-weight * np.log(unexplained).sum()) + 0.0
    bound = float(stats.chi2.isf(0.05 / tests, freedom))
    return Canonical(
        tuple(float(value) for value in found),
        statistic,
        freedom,
        float(stats.chi2.sf(statistic, freedom)),
        float(unexplained[0] / np.sqrt(records - basis.shape[1])),
        float(np.sqrt(-np.expm1(-bound / weight))),
        records,
    )


def piecewise(
    told: Floats,
    true: Floats,
    masked: Floats,
    *,
    given: Floats | None = None,
    most: int = MOST_PIECES,
) -> Piecewise:
    """Return the canonical correlations within pieces of records that are alike in S.

    Args:
        told: S standardized, n x p: makes the pieces, and is regressed on within each.
        true: X, n x q.
        masked: Y, n x k.
        given: further columns regressed on within each piece, such as fitted E(X|S) and E(Y|S).
        most: the largest number of pieces.
    """
    columns = told if given is None else np.column_stack([told, given])
    least = FEWEST_RECORDS + 4 * (columns.shape[1] + true.shape[1] + masked.shape[1])
    pieces = pieces_of(told, most, least)

    def within(rows: Rows) -> Canonical:
        return canonical(true[rows], masked[rows], columns[rows], tests=len(pieces))

    found = tuple(within(rows) for rows in pieces)
    return Piecewise(found, min(1.0, len(found) * min(piece.p for piece in found)))


def _residual_basis(values: Floats, basis: Floats) -> Floats:
    """Return an orthonormal basis of what a basis leaves of columns that vary."""
    size = np.linalg.norm(values - values.mean(axis=0), axis=0)
    rest = residual(values, basis)
    kept = np.linalg.norm(rest, axis=0) > 1e-7 * np.where(size > 0, size, np.inf)
    return basis_of(rest[:, kept])
