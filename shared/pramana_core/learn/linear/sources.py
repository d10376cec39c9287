"""What a linear classifier is fitted to: counts of all cells, of pairs, or drawn records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from pramana_core.domain import Domain
from pramana_core.errors import EstimationError
from pramana_core.learn.bayes_classifier.model import BayesClassifier
from pramana_core.learn.linear.columns import (
    CellGrid,
    Cells,
    Column,
    DesignMatrix,
    ListedCells,
    Scaling,
)
from pramana_core.learn.networks.network import sample_chunks
from pramana_core.marginals.counts import Codes, Marginals, MarginalTable, Tensor
from pramana_core.progress import OnShare

_NO_VARIATION = 1e-12
"""A variance below this share of the squared range of a column's values counts as zero."""


class Classed(Protocol):
    """How many records of each class are in cells of the features."""

    @property
    def cells(self) -> Cells:
        """The cells."""

    @property
    def totals(self) -> Tensor:
        """The records of all classes in each cell, shape (cells,)."""

    @property
    def valid(self) -> bool:
        """Whether no count is negative."""

    def of(self, code: int) -> Tensor:
        """Return the records of one class in each cell, shape (cells,)."""

    def by_category(self) -> list[Tensor]:
        """Return for each variable the records by category and class."""


@dataclass(frozen=True, eq=False)
class CellClassCounts:
    """The counts of each class in cells of the features: `counts` has shape (cells, classes)."""

    cells: Cells
    counts: Tensor

    @cached_property
    def totals(self) -> Tensor:
        """See `Classed`."""
        total: Tensor = self.counts.sum(axis=1)
        return total

    @cached_property
    def valid(self) -> bool:
        """See `Classed`."""
        return bool(self.counts.min() >= 0)

    def of(self, code: int) -> Tensor:
        """See `Classed`."""
        own: Tensor = self.counts[:, code]
        return own

    def by_category(self) -> list[Tensor]:
        """See `Classed`."""
        singles = [self.cells.singles(counts) for counts in self.counts.T]
        return [np.stack(own, axis=1) for own in zip(*singles, strict=True)]


@dataclass(frozen=True, eq=False)
class DrawnRecords:
    """Records with their class codes: no row of counts is made for each of them."""

    cells: ListedCells
    codes: Codes
    classes: int

    @cached_property
    def totals(self) -> Tensor:
        """See `Classed`."""
        return np.ones(len(self.codes))

    @property
    def valid(self) -> bool:
        """See `Classed`."""
        return True

    def of(self, code: int) -> Tensor:
        """See `Classed`."""
        own: Tensor = (self.codes == code).astype(np.float64)
        return own

    def by_category(self) -> list[Tensor]:
        """See `Classed`."""
        tables = [
            np.bincount(
                column.astype(np.intp) * self.classes + self.codes, minlength=size * self.classes
            ).reshape(size, self.classes)
            for column, size in zip(self.cells.columns, self.cells.shape, strict=True)
        ]
        return [np.asarray(table, dtype=np.float64) for table in tables]


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over the records of products of columns, (size, size), and of columns by class.

    `by_class` has shape (size, classes); the intercept comes first in both.
    """

    second: Tensor
    by_class: Tensor


def raw_counts(table: MarginalTable) -> CellClassCounts:
    """Return the raw counts of a table whose last axis is the class."""
    return gridded(table.counts)


def expected_counts(marginals: Marginals, variables: Sequence[str]) -> CellClassCounts:
    """Return the counts by posterior probability; the class is the last variable."""
    return gridded(marginals.expected(variables))


def drawn_counts(
    model: BayesClassifier, records: int, seed: int, on_share: OnShare
) -> DrawnRecords:
    """Return records drawn from a network that was learned of the features and the class.

    `on_share` is called with the share done.
    """
    features, target = model.inputs, model.target
    chunks, drawn = [], 0
    for chunk in sample_chunks(model.network, records, seed):
        chunks.append(chunk)
        drawn += len(chunk[target.name])
        on_share(drawn / records)
    columns = tuple(np.concatenate([chunk[name] for chunk in chunks]) for name in features.names)
    classes = np.concatenate([chunk[target.name] for chunk in chunks])
    return DrawnRecords(ListedCells(columns, features.shape), classes, target.size)


def moments_of_counts(design: DesignMatrix, source: Classed) -> Moments:
    """Return the moments of counts."""
    by_class = _by_class(design, source.by_category())
    return Moments(design.second(source.cells, source.totals), by_class)


def scaled(
    columns: Sequence[Column], marginals: Marginals, variables: Domain
) -> tuple[tuple[Column, ...], Scaling]:
    """Return the columns with their estimated deviations, and how to scale them.

    Raises EstimationError if no column varies.
    """
    shares = {v.name: _shares(marginals.marginal([v.name])) for v in variables}
    known, kept, means = [], [], []
    for number, column in enumerate(columns):
        values, share = np.array(column.values), shares[column.variable]
        mean = float(values @ share)
        variance = float(np.square(values - mean) @ share)
        varies = variance > _NO_VARIATION * float(np.ptp(values)) ** 2
        deviation = float(np.sqrt(variance)) if varies else 0.0
        known.append(Column(column.variable, column.name, column.values, deviation))
        if varies:
            kept.append(number)
            means.append(mean)
    if not kept:
        raise EstimationError(
            "No column is estimated to vary, so none tells the classes apart.",
            remedy="Choose other features, or collect more records.",
        )
    return tuple(known), Scaling(tuple(known), tuple(kept), np.array(means))


def _shares(table: MarginalTable) -> Tensor:
    share: Tensor = table.counts / table.counts.sum()
    return share


def gridded(counts: Tensor) -> CellClassCounts:
    """Return counts over the features and, last, the class."""
    shape, classes = counts.shape[:-1], counts.shape[-1]
    return CellClassCounts(CellGrid(shape), counts.reshape(-1, classes))


def _by_class(design: DesignMatrix, with_class: Sequence[Tensor]) -> Tensor:
    blocks = zip(design.blocks, with_class, strict=True)
    sums = [with_class[0].sum(axis=0)[None], *(block.T @ table for block, table in blocks)]
    return np.concatenate(sums)
