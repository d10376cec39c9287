"""The splits of a tree through a model, found for all nodes of one depth together.

A model's expected counts need no test, so the splits depend on expected counts alone. Errors, which
cost more, are then computed for the nodes of the outline only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import xlogy

from pramana_core.domain import Domain
from pramana_core.learn.common.options import DEEPEST, TreeOptions
from pramana_core.learn.tree.choosing import LEAST_GAIN
from pramana_core.learn.tree.evidence import EMPTY
from pramana_core.learn.tree.pruning import PAYS
from pramana_core.marginals.counts import Tensor
from pramana_core.ties import TIE, first_largest_of_rows

NodeCodes = npt.NDArray[np.int32]
"""The code of each attribute in each of n nodes, (n, attributes); -1 if it is not given."""

Tabulate = Callable[[NodeCodes], Sequence[Tensor]]
"""The counts by class and category of each attribute in n nodes, (n, classes, categories)."""

_CELLS = 1 << 20
"""The number of cells of the tables that are computed together."""


@dataclass(eq=False)
class _Level:
    """The n nodes of one depth; the children of a node follow each other.

    `splits` is the index of the attribute that splits each node, or -1, and `progress` each node's
    part of the progress.
    """

    codes: NodeCodes
    parents: npt.NDArray[np.intp]
    counts: Tensor
    shares: Tensor
    progress: Tensor

    def __post_init__(self) -> None:
        self.totals: Tensor = self.counts.sum(axis=1)
        self.splits = np.full(len(self.codes), -1)


def outline(
    attributes: Domain,
    root: Sequence[float],
    records: int,
    options: TreeOptions,
    tabulate: Tabulate,
    on_share: Callable[[float], None],
) -> Mapping[tuple[int, ...], str]:
    """Return the attributes that split nodes, by the nodes' codes (-1: not given).

    The attributes are those of `best_split`. If the options prune, subtrees that `pruned_by_gain`
    removes for their gain alone are left out. `root` has the counts of the classes, and `on_share`
    is called with the share of the growth that is done.
    """
    counts = np.array([root])
    codes = np.full((1, len(attributes)), -1, np.int32)
    level = _Level(codes, np.zeros(1, np.intp), counts, counts / counts.sum(), np.ones(1))
    levels, done = [level], 0.0
    most = max(1, _CELLS // (len(root) * sum(attributes.shape)))
    deepest = DEEPEST if options.max_depth is None else options.max_depth
    while len(levels) <= min(deepest, len(attributes)):
        rows = np.flatnonzero(_open(level, records, options))
        parts: list[tuple[Any, ...]] = []
        for start in range(0, len(rows), most):
            some = rows[start : start + most]
            parts += _children(level, some, tabulate(level.codes[some]), records)
            on_share(done)
        done += float(level.progress[level.splits < 0].sum())
        if not parts:
            break
        level = _Level(*(np.concatenate(part) for part in zip(*parts, strict=True)))
        levels.append(level)
    if options.prune:
        _prune(levels)
    return {
        tuple(codes): attributes.names[split]
        for level in levels
        for codes, split in zip(level.codes.tolist(), level.splits.tolist(), strict=True)
        if split >= 0
    }


def _open(level: _Level, records: int, options: TreeOptions) -> npt.NDArray[np.bool_]:
    """Return which nodes may be split: those with enough records, of more than one class."""
    totals = level.totals
    least = max(options.least_records, EMPTY)
    found = totals + TIE * np.maximum(totals, least) >= least
    found &= (level.counts > EMPTY * records).sum(axis=1) > 1
    if options.prune:
        wrong = (1 - level.shares.max(axis=1)) * totals
        found &= wrong + TIE * np.maximum(totals, PAYS) >= PAYS
    return np.asarray(found)


def _children(
    level: _Level, rows: npt.NDArray[np.intp], tables: Sequence[Tensor], records: int
) -> Iterator[tuple[NodeCodes, npt.NDArray[np.intp], Tensor, Tensor, Tensor]]:
    """Choose the splits of some nodes, and yield the children of those with the same attribute."""
    gains = np.stack([_gains(table, records) for table in tables], axis=1)
    gains[(level.codes[rows] >= 0) | (gains <= LEAST_GAIN)] = np.nan
    best = first_largest_of_rows(gains, scale=1.0)
    best[np.isnan(gains).all(axis=1)] = -1
    level.splits[rows] = best
    for attribute, table in enumerate(tables):
        own = best == attribute
        if not own.any():
            continue
        size = table.shape[2]
        parents = np.repeat(rows[own], size)
        codes = level.codes[parents]
        codes[:, attribute] = np.arange(len(codes)) % size
        counts = np.moveaxis(table[own], 2, 1).reshape(len(codes), -1)
        totals = counts.sum(axis=1, keepdims=True)
        there = totals > EMPTY * records
        shares = np.where(there, counts / np.where(there, totals, 1.0), level.shares[parents])
        yield codes, parents, counts, shares, level.progress[parents] / size


def _gains(counts: Tensor, records: int) -> Tensor:
    """Return the information gain, in bits, of each of n tables (n, classes, categories)."""
    totals = counts.sum(axis=(1, 2))
    there = totals > EMPTY * records
    totals = np.where(there, totals, 1.0)
    parts = xlogy(counts, counts).sum(axis=(1, 2)) + xlogy(totals, totals)
    for axis in (1, 2):
        margin = counts.sum(axis=axis)
        parts -= xlogy(margin, margin).sum(axis=1)
    return np.where(there, parts / (totals * np.log(2)), 0.0)


def _prune(levels: Sequence[_Level]) -> None:
    """Undo splits that gain too few records, whatever is pruned below them."""
    below = _of_leaves(levels[-1])
    for level, children in reversed([*pairwise(levels)]):
        starts = np.flatnonzero(np.diff(children.parents, prepend=-1))
        at, leaves = children.parents[starts], np.add.reduceat(below, starts)
        below = _of_leaves(level)
        decisions = first_largest_of_rows(level.shares[at])
        gained = leaves[:, 1] - leaves[np.arange(len(at)), 2 + decisions]
        # Half or twice the tie of `pruned_by_gain`: near a tie, that function decides.
        slack = TIE * np.maximum(level.totals[at], 1.0)
        kept = (gained >= PAYS * (leaves[:, 0] - 1) - 2 * slack) & (gained > slack / 2)
        below[at[kept]] = leaves[kept]
        level.splits[at[~kept]] = -1


def _of_leaves(level: _Level) -> Tensor:
    """Return, for each node as a leaf: 1, its correct predictions, its records of each class."""
    classes = level.totals[:, None] * level.shares
    right = classes[np.arange(len(classes)), first_largest_of_rows(level.shares)]
    return np.column_stack([np.ones(len(classes)), right, classes])
