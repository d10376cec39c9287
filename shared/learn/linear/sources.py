"""What a linear classifier is fitted to: counts of all cells, of pairs, or drawn records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from shared.counts import Marginals, MarginalTable, Tensor
from shared.domain import Domain
from shared.errors import EstimationError
from shared.learn.bayes_net import learn_parameters
from shared.learn.linear.cells import Cells, Grid, Listed
from shared.learn.linear.columns import Column, Design, Scaling
from shared.learn.search import Search
from shared.learn.structure import Structure
from shared.learn.structure_learning import learn_structure
from shared.learn.synthetic import sample_chunks

_NO_VARIATION = 1e-12
"""A variance below this share of the squared range of a column's values is none."""

Tick = Callable[[], None]
"""Called between pieces of work; may raise to stop."""


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """The counts of each class in cells of the features: `counts` has shape (cells, classes)."""

    cells: Cells
    counts: Tensor


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over the records of products of columns, (size, size), and of columns by class.

    `by_class` has shape (size, classes); the intercept comes first in both.
    """

    second: Tensor
    by_class: Tensor


def raw_counts(table: MarginalTable) -> ClassCounts:
    """Return the raw counts of a table whose last axis is the class."""
    return _gridded(table.counts)


def expected_counts(marginals: Marginals, variables: Sequence[str]) -> ClassCounts:
    """Return the counts by posterior probability; the class is the last variable."""
    return _gridded(marginals.expected(variables))


def drawn_counts(
    marginals: Marginals, features: Domain, target: str, records: int, seed: int, tick: Tick
) -> ClassCounts:
    """Return records drawn from a network that is learned of the features and the class.

    The class comes first in the network's order, so that every feature may depend on it.

    Raises:
        EstimationError, LimitExceeded: what learning raises.
    """
    wanted = (target, *features.names)
    others = [name for name in marginals.domain.names if name not in wanted]
    search = Search(order=(*wanted, *others))
    found = learn_structure(
        marginals, search=search, children=wanted, draws=0, on_step=_ticked(tick)
    )
    structure = Structure.of({node: found.structure.parents[node] for node in wanted})
    network = learn_parameters(marginals, structure, on_node=_ticked(tick)).network()
    chunks = list(sample_chunks(network, records, seed))
    columns = tuple(np.concatenate([chunk[name] for chunk in chunks]) for name in features.names)
    classes = np.concatenate([chunk[target] for chunk in chunks])
    size = marginals.domain[target].size
    return ClassCounts(Listed(columns, features.shape), np.eye(size)[classes])


def moments_of_counts(design: Design, source: ClassCounts) -> Moments:
    """Return the moments of counts."""
    by_class = [design.first(source.cells, counts) for counts in source.counts.T]
    second = design.second(source.cells, source.counts.sum(axis=1))
    return Moments(second, np.stack(by_class, axis=1))


def moments_of_pairs(
    marginals: Marginals, design: Design, features: Domain, target: str, tick: Tick
) -> Moments:
    """Return the moments from the raw counts of pairs, whatever the number of all cells."""
    names = features.names
    with_class = []
    for name in names:
        tick()
        with_class.append(marginals.marginal([name, target]).counts)
    pairs = {}
    for one, two in combinations(range(len(names)), 2):
        tick()
        pairs[one, two] = marginals.marginal([names[one], names[two]]).counts
    second = design.products([table.sum(axis=1) for table in with_class], pairs)
    blocks = zip(design.blocks, with_class, strict=True)
    by_class = [with_class[0].sum(axis=0)[None], *(block.T @ table for block, table in blocks)]
    return Moments(second, np.concatenate(by_class))


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


def _gridded(counts: Tensor) -> ClassCounts:
    shape, classes = counts.shape[:-1], counts.shape[-1]
    return ClassCounts(Grid(shape), counts.reshape(-1, classes))


def _ticked(tick: Tick) -> Callable[[int, int], None]:
    def on_step(_done: int, _total: int) -> None:
        tick()

    return on_step
