"""What a linear classifier is fitted to: counts of all cells, of pairs, or drawn records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Protocol

import numpy as np

from shared.domain import Domain
from shared.errors import EstimationError
from shared.learn.linear.cells import CellGrid, Cells, ListedCells
from shared.learn.linear.columns import Column, DesignMatrix, Scaling
from shared.learn.networks.bayes_net import learn_parameters
from shared.learn.networks.options import Search
from shared.learn.networks.search.structure_learning import learn_structure
from shared.learn.networks.structure import Structure
from shared.learn.networks.synthetic import sample_chunks
from shared.marginals.counts import Codes, Marginals, MarginalTable, Tensor
from shared.progress import OnShare, Progress, Tick

_NO_VARIATION = 1e-12
"""A variance below this share of the squared range of a column's values counts as zero."""

_SEARCHED, _LEARNED = 0.8, 0.9
"""The shares of the work when a network's structure and its parameters are learned."""


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
    return _gridded(table.counts)


def expected_counts(marginals: Marginals, variables: Sequence[str]) -> CellClassCounts:
    """Return the counts by posterior probability; the class is the last variable."""
    return _gridded(marginals.expected(variables))


def drawn_counts(
    marginals: Marginals, features: Domain, target: str, records: int, seed: int, on_share: OnShare
) -> DrawnRecords:
    """Return records drawn from a network that is learned of the features and the class.

    The class comes first in the network's order, so that every feature may depend on it.
    `on_share` is called with the share done.

    Raises:
        EstimationError, LimitExceeded: what learning raises.
    """
    wanted = (target, *features.names)
    others = [name for name in marginals.domain.names if name not in wanted]
    search = Search(order=(*wanted, *others))
    found = learn_structure(
        marginals,
        search=search,
        children=wanted,
        draws=0,
        on_step=_part(on_share, 0.0, _SEARCHED),
    )
    structure = Structure.of({node: found.structure.parents[node] for node in wanted})
    on_node = _part(on_share, _SEARCHED, _LEARNED)
    network = learn_parameters(marginals, structure, on_node=on_node).network()
    chunks, drawn = [], 0
    for chunk in sample_chunks(network, records, seed):
        chunks.append(chunk)
        drawn += len(chunk[target])
        on_share(_LEARNED + (1 - _LEARNED) * drawn / records)
    columns = tuple(np.concatenate([chunk[name] for chunk in chunks]) for name in features.names)
    classes = np.concatenate([chunk[target] for chunk in chunks])
    size = marginals.domain[target].size
    return DrawnRecords(ListedCells(columns, features.shape), classes, size)


def moments_of_counts(design: DesignMatrix, source: Classed) -> Moments:
    """Return the moments of counts."""
    by_class = _by_class(design, source.by_category())
    return Moments(design.second(source.cells, source.totals), by_class)


def moments_of_pairs(
    marginals: Marginals, design: DesignMatrix, features: Domain, target: str, tick: Tick
) -> Moments:
    """Return the moments from the raw counts of pairs, whatever the number of all cells."""
    names = features.names

    def counts(*pair: str) -> Tensor:
        return (marginals.unbiased(pair) or marginals.marginal(pair)).counts

    with_class = []
    for name in names:
        tick()
        with_class.append(counts(name, target))
    pairs = {}
    for one, two in combinations(range(len(names)), 2):
        tick()
        pairs[one, two] = counts(names[one], names[two])
    second = design.products([table.sum(axis=1) for table in with_class], pairs)
    return Moments(second, _by_class(design, with_class))


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


def _gridded(counts: Tensor) -> CellClassCounts:
    shape, classes = counts.shape[:-1], counts.shape[-1]
    return CellClassCounts(CellGrid(shape), counts.reshape(-1, classes))


def _by_class(design: DesignMatrix, with_class: Sequence[Tensor]) -> Tensor:
    blocks = zip(design.blocks, with_class, strict=True)
    sums = [with_class[0].sum(axis=0)[None], *(block.T @ table for block, table in blocks)]
    return np.concatenate(sums)


def _part(on_share: OnShare, start: float, end: float) -> Progress:
    def on_step(done: int, total: int) -> None:
        on_share(start + (end - start) * min(done / max(total, 1), 1.0))

    return on_step
