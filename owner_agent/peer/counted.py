"""The columns that this owner's families are counted from, and how their table is recognized.

Digests stand for what is compared: of the records, and of how a column parts them into groups. So
neither another name of a variable nor other labels or another order of its categories make another
column of it, and another set of records does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from owner_agent.peer.exchange.incoming import ReceivedColumns
from owner_agent.peer.exchange.packages import counted_names
from owner_agent.peer.tasks.holding import LocalRecords
from pramana_core.marginals.counts import Codes, ReportedCounts
from pramana_core.plan import Plan
from pramana_core.wire.parts import Pseudonyms


@dataclass(frozen=True, eq=False)
class CountedColumns:
    """Own true columns and the peers' as received, in the order of the pseudonyms `keys`."""

    plan: Plan
    keys: Pseudonyms
    columns: Mapping[str, Codes]
    _digests: dict[str, str] = field(default_factory=dict, init=False)

    def names(self, node: str, parents: Sequence[str]) -> tuple[str, ...]:
        """Return the columns whose table gives a family's parameters."""
        return counted_names(self.plan, (*parents, node))

    def smallest_cell(self, names: Sequence[str]) -> int:
        """Return the fewest records that some combination of codes has, of those that occur."""
        return smallest_cell([self.columns[name] for name in names])

    @property
    def reports(self) -> ReportedCounts:
        """The exact counts over any of the columns."""
        return ReportedCounts(self.columns, self.plan.reported_sizes)

    @property
    def records(self) -> str:
        """The digest of the records: that of a column in which they are all alike."""
        return partition_digest(self.keys, np.zeros(len(self.keys), dtype=np.uint8))

    def digest(self, name: str) -> str:
        """Return the digest of a column's records and groups."""
        if name not in self._digests:
            self._digests[name] = partition_digest(self.keys, self.columns[name])
        return self._digests[name]


def counted_from(holding: LocalRecords, received: Sequence[ReceivedColumns]) -> CountedColumns:
    """Return the columns that this owner counts families from.

    Args:
        holding: this owner's records.
        received: its peers' columns of the same records; none in horizontal sessions, whose other
            owners know their own reports and can take them off.
    """
    plan = Plan.combine([Plan.unrandomized(holding.domain), *(one.plan for one in received)])
    columns = {name: holding.columns[name] for name in holding.names}
    for one in received:
        columns |= one.columns
    return CountedColumns(plan, holding.keys, columns)


def smallest_cell(columns: Sequence[Codes]) -> int:
    """Return the fewest records that some combination of codes has, of those that occur."""
    cells: npt.NDArray[np.int64] = np.zeros(len(columns[0]), dtype=np.int64)
    for codes in columns:
        # Numbered anew each time, so that no number of variables makes the numbers too large.
        combined = cells * (int(codes.max()) + 1) + codes
        cells = np.unique(combined, return_inverse=True)[1]
    return int(np.bincount(cells).min())


def partition_digest(keys: Pseudonyms, codes: Codes) -> str:
    """Return the digest of records and of how a column parts them, whatever its categories are."""
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    numbers = first_order(first).astype("<u4")[inverse]
    running = hashlib.sha256(b"pramana/partition/1\x00")
    running.update(np.ascontiguousarray(keys).tobytes())
    running.update(numbers.tobytes())
    return running.hexdigest()


def first_order(first: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the order in which codes first occur, from the places where each does."""
    order: npt.NDArray[np.int64] = np.argsort(np.argsort(first))
    return order
