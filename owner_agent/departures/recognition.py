"""Columns known again by their values, whatever their column and variable are called.

Two columns are one secret if, on the records that are known of both, the categories of one are
those of the other under other labels, up to a few corrections. Losses of one secret add.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import comb

import numpy as np
import numpy.typing as npt

from owner_agent.departures.fingerprints import Names, Sample, Values, read_fingerprint, sample_of
from owner_agent.departures.ledger import Draw, Entry
from pramana_core.marginals.counts import Codes

Rows = npt.NDArray[np.intp]
Table = npt.NDArray[np.intp]

LEAST_KAPPA = 0.8
"""Cohen's kappa of the best one-to-one matching of categories: 0 by chance, 1 for a relabelling."""

LEAST_COMMON = 30
"""Columns are compared on at least so many records."""

CHANCE = 1e-6
"""Independent columns are taken for one at most this often, times the categories of one."""


def same_values(one: Codes, other: Codes) -> bool:
    """Whether two columns are one under other labels, up to a few records.

    The best one-to-one matching of their categories (the assignment problem) agrees with a kappa of
    at least `LEAST_KAPPA`; and so many records have the most frequent category of the one together
    with its match as chance would bring about with a probability below `CHANCE` (hypergeometric:
    Fisher's exact test). The first alone would take two columns for one in which a single record
    differs from all others; the second alone would take any two that go together.

    Args:
        one: codes of N records.
        other: codes of the same records, in the same order.
    """
    records = len(one)
    if records < LEAST_COMMON:
        return False
    (kinds, rows), (others, columns) = (np.unique(c, return_inverse=True) for c in (one, other))
    if min(len(kinds), len(others)) < 2:
        return False
    shape = len(kinds), len(others)
    table = np.bincount(rows * shape[1] + columns, minlength=shape[0] * shape[1]).reshape(shape)
    mine, theirs = table.sum(axis=1), table.sum(axis=0)
    if table.max(axis=1).sum() < LEAST_KAPPA * records:
        return False  # No matching agrees on more, and a kappa is never above its agreement.
    # Most commands compare nothing, and the library takes long to load.
    from scipy.optimize import linear_sum_assignment

    matched, match = linear_sum_assignment(table, maximize=True)
    agreement = table[matched, match].sum() / records
    expected = (mine[matched] * theirs[match]).sum() / records**2
    if agreement - expected < LEAST_KAPPA * (1 - expected):
        return False
    largest = int(mine.argmax())
    partners = match[matched == largest]
    return len(partners) == 1 and _chance(table, largest, int(partners[0])) < CHANCE


def _chance(table: Table, row: int, column: int) -> float:
    """Return how probably so many records or more fall into a cell if its margins are given."""
    records, ours, theirs = (
        int(n) for n in (table.sum(), table[row].sum(), table[:, column].sum())
    )
    ways = sum(
        comb(ours, both) * comb(records - ours, theirs - both)
        for both in range(int(table[row, column]), min(ours, theirs) + 1)
    )
    return ways / comb(records, theirs)


def recognized(draws: Sequence[Draw], values: Values, entries: Iterable[Entry]) -> tuple[Draw, ...]:
    """Return planned draws, each with the columns whose values its column has.

    These are columns that left before, on the records sampled then that are still in the table, and
    other columns of the same plan. At least one of the two must be randomized, for what both tell
    openly is no loss.

    Raises:
        StoreCorrupt: a fingerprint in the ledger is damaged.
    """
    now = sample_of(values, [draw.column for draw in draws])
    sources = [(now.columns, now.columns, _randomized(draws))]
    place = np.argsort(values.names)
    ordered = values.names[place]
    for entry in entries:
        sample = read_fingerprint(values.key, entry.fingerprint) if entry.left else None
        if sample is not None:
            rows, known = _together(ordered, place, sample)
            mine = {draw.column: values.columns[draw.column][rows] for draw in draws}
            theirs = {column: codes[known] for column, codes in sample.columns.items()}
            sources.append((mine, theirs, _randomized(entry.draws)))
    return tuple(replace(draw, same_as=tuple(sorted(_alike(draw, sources)))) for draw in draws)


Compared = tuple[Mapping[str, Codes], Mapping[str, Codes], frozenset[str]]
"""Planned and other columns over the same records, and which of the others are randomized."""


def _alike(draw: Draw, sources: Iterable[Compared]) -> set[str]:
    found: set[str] = set()
    for mine, theirs, randomized in sources:
        for column, codes in theirs.items():
            matters = draw.randomized or column in randomized
            if column != draw.column and column not in found and matters:
                found |= {column} if same_values(mine[draw.column], codes) else set()
    return found


def _together(ordered: Names, place: Rows, sample: Sample) -> tuple[Rows, Rows]:
    """Return where the records that a table and a sample have in common are in each."""
    found = np.minimum(np.searchsorted(ordered, sample.names), len(ordered) - 1)
    known = np.flatnonzero(ordered[found] == sample.names)
    return place[found[known]], known


def _randomized(draws: Iterable[Draw]) -> frozenset[str]:
    return frozenset(draw.column for draw in draws if draw.randomized)
