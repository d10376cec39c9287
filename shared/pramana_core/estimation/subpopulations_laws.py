"""How the records of a subpopulation report, and what their reports say of its cells."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pramana_core.channels import LISTED_ENTRIES
from pramana_core.estimation.core.axes import Axis
from pramana_core.marginals.counts import CellMoments, Tensor

_MOMENTS = 1 << 22
"""Where a table's cells times their reports times the cells of a row are more, no moments."""


@dataclass(frozen=True, eq=False)
class CellLaw:
    """How a cell's records report, and what their reports say of each cell.

    Args:
        factors: what a report adds to each cell's count, (cells, reports), but for the given
            categories of `path`.
        cells: the place of each cell among those of `axes`.
        axes: the parts of the reports.
        path: those of given categories that are in no axis.
        given: the codes of the given categories, by variable.
        share: of all records, how many report so.
    """

    factors: Tensor
    cells: npt.NDArray[np.intp]
    axes: tuple[Axis, ...]
    path: tuple[Axis, ...]
    given: Mapping[str, int]
    share: float = 1.0

    def moments(self, width: int) -> CellMoments | None:
        """Return what records say of their row of so many cells; None where that is too large."""
        if self.factors.size * width > _MOMENTS or any(map(_unlisted, (*self.axes, *self.path))):
            return None
        scale = self.share
        for axis in self.path:
            scale *= float(
                (np.square(rows_of(axis, self.given)) * _chances(axis, self.given)).sum()
            )
        chances = np.ones((1, 1))
        for axis in self.axes:
            chances = outer(chances, _chances(axis, self.given))
        factors = self.factors.reshape(-1, width, self.factors.shape[1])
        of_true = scale * chances[self.cells].reshape(factors.shape).transpose(0, 2, 1)
        row = factors.sum(axis=1)
        return CellMoments(
            np.square(factors) @ of_true,
            factors * row[:, None] @ of_true,
            (np.square(row)[:, None] @ of_true)[:, 0],
        )


@dataclass(frozen=True, eq=False)
class ExactLaw:
    """The same of records that are reported as they are: each says that it is in its own cell.

    Args:
        share: of all records, how many report so.
    """

    cells: int
    share: float = 1.0

    def moments(self, width: int) -> CellMoments:
        """Return what records say of their row of so many cells."""
        rows = self.cells // width
        own = np.broadcast_to(self.share * np.eye(width), (rows, width, width))
        return CellMoments(own, own, np.full((rows, width), self.share))


def outer(rows: Tensor, more: Tensor) -> Tensor:
    """Return the products of two tables' entries, by pairs of rows and pairs of columns."""
    made: Tensor = np.einsum("cr,ds->cdrs", rows, more).reshape(
        len(rows) * len(more), rows.shape[1] * more.shape[1]
    )
    return made


def rows_of(axis: Axis, given: Mapping[str, int]) -> Tensor:
    """Return the estimators of an axis's cells that have the given categories, a row each."""
    cells = _cells(axis, given)
    mixture = axis.channel.inverse_mixture
    if mixture is None:
        listed: Tensor = axis.decoder[cells]
        return listed
    # The inverse a I + b 11' need not be listed for cells that are not asked for.
    return _mixed(cells, axis.channel.shape[1], *mixture)


def _unlisted(axis: Axis) -> bool:
    """Whether a channel's probabilities are too many to be listed."""
    return not _mixes(axis) and math.prod(axis.channel.shape) > LISTED_ENTRIES


def _mixes(axis: Axis) -> bool:
    return axis.channel.mixture is not None and len(axis.kept) == len(axis.variables)


def _chances(axis: Axis, given: Mapping[str, int]) -> Tensor:
    """Return how a record with each of an axis's cells that have the given categories reports.

    The categories of variables not asked for are taken to be equally many.
    """
    cells = _cells(axis, given)
    mixture = axis.channel.mixture
    if mixture is not None and _mixes(axis):
        return _mixed(cells, axis.channel.shape[1], *mixture)
    sizes = [v.size for v in axis.variables]
    gone = tuple(i for i, v in enumerate(axis.variables) if v.name not in axis.asked)
    listed: Tensor = axis.channel.matrix().reshape(*sizes, -1).mean(axis=gone)
    return listed.reshape(-1, axis.channel.shape[1])[cells]


def _cells(axis: Axis, given: Mapping[str, int]) -> npt.NDArray[np.intp]:
    """Return the places of an axis's cells that have the given categories."""
    sizes = [v.size for v in axis.kept]
    chosen = tuple(given.get(v.name, slice(None)) for v in axis.kept)
    return np.arange(math.prod(sizes)).reshape(sizes)[chosen].ravel()


def _mixed(cells: npt.NDArray[np.intp], size: int, a: float, b: float) -> Tensor:
    """Return rows of a I + b 11'."""
    rows = np.full((len(cells), size), b)
    rows[np.arange(len(cells)), cells] += a
    return rows
