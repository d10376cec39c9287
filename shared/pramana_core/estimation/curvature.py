"""How the log-likelihood bends: its second derivatives by the shares of some true cells.

Also here:

* The errors of a maximum-likelihood estimate: its observed information, inverted.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from pramana_core.channels import LISTED_ENTRIES
from pramana_core.errors import EstimationError, LimitExceeded
from pramana_core.estimation.axes import Stratum
from pramana_core.marginals.counts import Tensor
from pramana_core.marginals.support_counts import Flags, Indices
from pramana_core.progress import Tick

MOST_SHARES = 1 << 12
"""Newton steps are taken over up to so many shares."""

_ENTRIES = 1 << 20
_RIDGE, _MOST_RIDGE = 1e-12, 1e-3


@dataclass(frozen=True)
class HeldCells:
    """True cells with their probabilities, and a whole table as one more.

    Args:
        cells: which, in C order of the table.
        shares: the probability of each, then that of the `rest` if there is one.
        rest: a distribution over all cells, (cells).
        size: the number of all cells.
    """

    cells: Indices
    shares: Tensor
    rest: Tensor | None
    size: int

    @classmethod
    def of(cls, table: Tensor, whole: int) -> HeldCells:
        """Hold the cells of a table (cells); of more than `whole`, the table is the `rest`."""
        if len(table) <= whole:
            cells = np.flatnonzero(table > 0)
            return cls(cells, table[cells], None, len(table))
        return cls(np.zeros(0, dtype=np.int64), np.ones(1), table, len(table))

    def spread(self, shares: Tensor) -> Tensor:
        """Return what shares make of all cells, (cells)."""
        theta = np.zeros(self.size) if self.rest is None else self.rest * shares[-1]
        theta[self.cells] += shares[: len(self.cells)]
        return theta

    def gathered(self, slope: Tensor) -> Tensor:
        """Return the slopes by the shares, of those by all cells."""
        own = slope[self.cells]
        return own if self.rest is None else np.append(own, self.rest @ slope)

    def joined(self, cells: Indices) -> HeldCells:
        """Return the same with more cells, of probability zero."""
        shares = np.insert(self.shares, len(self.cells), np.zeros(len(cells)))
        return HeldCells(np.append(self.cells, cells), shares, self.rest, self.size)

    def moved(self, shares: Tensor) -> HeldCells:
        """Return other shares, less those that are zero."""
        own, rest = shares[: len(self.cells)] / shares.sum(), self.rest
        kept = own > 0
        left = own[kept]
        if rest is not None and shares[-1] > 0:
            left = np.append(left, shares[-1] / shares.sum())
        else:
            rest = None
        return HeldCells(self.cells[kept], left, rest, self.size)


class SeenReports:
    """The reports that were seen, in all strata one after the other."""

    def __init__(self, strata: Sequence[Stratum]):
        self._strata = strata
        self._rows = [np.flatnonzero(stratum.column[:, 0] > 0) for stratum in strata]
        own = [s.column[rows, 0] for s, rows in zip(strata, self._rows, strict=True)]
        self.counts: Tensor = np.concatenate(own)
        self.records = float(self.counts.sum())
        ends = np.cumsum([0, *map(len, self._rows)])
        self._parts = [
            (stratum, slice(None) if len(rows) == stratum.reported.size else rows, slice(*place))
            for stratum, rows, place in zip(
                strata, self._rows, itertools.pairwise(ends.tolist()), strict=True
            )
        ]

    def expected(self, theta: Tensor) -> Tensor:
        """Return the chances of the reports seen, of tables (cells) or (cells, sets)."""
        sets = theta.reshape(*self._strata[0].shape, -1)
        parts = [stratum.expected(sets)[rows] for stratum, rows, _ in self._parts]
        whole = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return whole.reshape(-1, *theta.shape[1:])

    def adjoint(self, function: Tensor) -> Tensor:
        """Return, per true cell, the sum of a function of the reports seen by their chances."""
        total: Tensor = np.zeros(self._strata[0].shape)
        for stratum, rows, place in self._parts:
            full = np.zeros((stratum.reported.size, 1))
            full[rows, 0] = function[place]
            total = total + stratum.adjoint(full)[..., 0]
        return total.ravel()

    def curvature(self, held: HeldCells, expected: Tensor, tick: Tick) -> Curvature:
        """Return minus the second derivatives of the log-likelihood by the shares held.

        Args:
            held: the cells.
            expected: the probabilities of the reports seen.
            tick: called after each part of the work.
        """
        return Curvature(self._gram(held, np.sqrt(self.counts) / expected, tick))

    def _gram(self, held: HeldCells, weights: Tensor, tick: Tick) -> Tensor:
        size = len(held.shares)
        total: Tensor = np.zeros((size, size))
        rest = None if held.rest is None else self.expected(held.rest)
        most, start = max(_ENTRIES // size, 1), 0
        for stratum, rows in zip(self._strata, self._rows, strict=True):
            for first in range(0, len(rows), most):
                part = rows[first : first + most]
                place = slice(start + first, start + first + len(part))
                listed = np.empty((len(part), size))
                listed[:, : len(held.cells)] = stratum.listed_at(part, held.cells)
                if rest is not None:
                    listed[:, -1] = rest[place]
                listed *= weights[place, None]
                total += listed.T @ listed
                tick()
            start += len(rows)
        return total


class Curvature:
    """A listed positive semidefinite matrix over shares, with as much of a ridge as it needs."""

    def __init__(self, matrix: Tensor):
        self._matrix = matrix
        self._scale = np.diag(matrix).copy()
        self._ridge = _RIDGE

    def times(self, move: Tensor) -> Tensor:
        """Return the product with a vector."""
        product: Tensor = self._matrix @ move
        return product

    def solved(self, slope: Tensor, free: Indices) -> Tensor | None:
        """Return x with (matrix x)_i = slope_i for the `free` i, which alone are not zero.

        None where rounding hides the solution.
        """
        while self._ridge <= _MOST_RIDGE:
            inner = self._matrix[np.ix_(free, free)]
            inner[np.diag_indices_from(inner)] += self._ridge * self._scale[free]
            try:
                factor = linalg.cho_factor(inner, overwrite_a=True, check_finite=False)
                move: Tensor = linalg.cho_solve(factor, slope[free], check_finite=False)
                if np.isfinite(move).all():
                    return move
            except linalg.LinAlgError:
                pass
            self._ridge *= 100
        return None


# The errors of a maximum-likelihood estimate: its observed information, inverted.

INFORMATION_CELLS = 4096
"""Up to this many cells the observed information of a channel without inverse is inverted."""

_CONDITION = 1e12
_EDGE = 1e-9


@dataclass(frozen=True)
class ThirdMoments:
    """Of the functions W of a report that maximum likelihood estimates the cells of a table by.

    Where N is large, the ML estimate of a cell is the mean of W(y) = N I^-1 P_y / (P'theta)_y over
    the reports y, P_y the column of P; the mean of W is the cell's share.

    Attributes:
        cubes: the sums of W^3 over the reports, one per cell.
        own: the means of W^2 and of W^3 for a record that has the cell.
    """

    cubes: Tensor
    own: tuple[Tensor, Tensor]


def inverse_information(
    strata: Sequence[Stratum], theta: Tensor, kept: int, silent: float = 0.0
) -> tuple[Tensor, ThirdMoments]:
    """Return N^2 times the inverse observed information: the second moments of the ML counts.

    The information of theta is the sum over strata of P diag(n / (P'theta)^2) P'. Its constrained
    inverse (the cells sum to 1) is the unconstrained one less theta theta' / N, exactly the
    multinomial term that `EstimatedTable.variance` subtracts. Cells at the edge of which no report
    tells (none seen is possible there) stay at zero, without error.

    Args:
        strata: the reports.
        theta: the most likely true table, in the strata's shape.
        kept: how many of the table's first axes to keep; the others are summed out.
        silent: records, counted in N, that report none of the table's variables. All they say is
            that the cells sum to 1.

    Returns:
        A matrix over the cells kept, and the third moments of what estimates them.

    Raises:
        LimitExceeded: too many cells or reports.
        EstimationError: the reports cannot tell all cells apart.
    """
    cells = theta.size
    reports = sum(stratum.column.size for stratum in strata)
    if cells > INFORMATION_CELLS or reports * cells > LISTED_ENTRIES:
        raise LimitExceeded(
            f"The information of {reports} reports over {cells} cells is too large to invert.",
            remedy="Ask for fewer variables at once.",
        )
    information: Tensor = np.full((cells, cells), silent)
    for stratum in strata:
        seen = stratum.column[:, 0] > 0
        listed = stratum.listed()[seen]
        weights = stratum.column[seen, 0] / np.square(listed @ theta.ravel())
        information += (listed.T * weights) @ listed
    identified = np.diag(information) > silent
    inner = information[np.ix_(identified, identified)]
    inverted = None if np.any(theta.ravel()[~identified] > _EDGE) else _inverted(inner)
    if inverted is None:
        raise EstimationError(
            f"The reports cannot tell all {cells} cells apart; their counts have no"
            " maximum-likelihood error.",
            remedy="Ask for fewer variables, or use the estimator 'pooled'.",
        )
    inverse: Tensor = np.zeros((cells, cells))
    inverse[np.ix_(identified, identified)] = inverted
    left = math.prod(theta.shape[:kept])
    return _moments(strata, theta.reshape(left, -1), inverse, identified.reshape(left, -1), silent)


def _inverted(information: Tensor) -> Tensor | None:
    """Return the inverse of a symmetric matrix; None where it is as good as singular."""
    factor, failed = lapack.dpotrf(information, lower=1)
    if failed:
        return None
    size = float(np.abs(information).sum(axis=0).max())
    share, _ = lapack.dpocon(factor, size, uplo="L")
    if share * _CONDITION < 1:
        return None
    lower, _ = lapack.dpotri(factor, lower=1)
    inverse: Tensor = np.tril(lower) + np.tril(lower, -1).T
    return inverse


def _moments(
    strata: Sequence[Stratum], theta: Tensor, inverse: Tensor, identified: Flags, silent: float
) -> tuple[Tensor, ThirdMoments]:
    """Return the moments of the rows of theta, whose columns are summed."""
    left, gone = theta.shape
    records = silent + sum(stratum.records for stratum in strata)
    rows = records * inverse.reshape(left, gone, -1).sum(axis=1)
    products = records * rows.reshape(left, left, gone).sum(axis=2)
    shares = theta * identified
    shares = np.where(shares.any(axis=1, keepdims=True), shares, 1.0 * identified)
    known = shares.any(axis=1)
    shares = shares / np.where(known, shares.sum(axis=1), 1.0)[:, None]
    # Records that report nothing count with the estimate itself.
    mean = theta.sum(axis=1)
    cubes = silent * mean**3
    own = [silent / records * mean**power for power in (2, 3)]
    for stratum in strata:
        seen = stratum.column[:, 0] > 0
        listed = stratum.listed()[seen]
        weights = (listed / (listed @ theta.ravel())[:, None]) @ rows.T
        cubes += stratum.column[seen, 0] @ weights**3
        law = (listed.reshape(-1, left, gone) * shares).sum(axis=2)
        for place, power in enumerate((2, 3)):
            own[place] += stratum.records / records * (law * weights**power).sum(axis=0)
    # Of a cell of which no report tells, a record would be seen as itself.
    second, third = (np.where(known, found, 1.0) for found in own)
    return products, ThirdMoments(cubes, (second, third))
