"""Reports that are sorted by pseudonym and do not fit into memory: sorted runs on disk, merged.

Only pseudonyms and reports are written, in private files without a name, so that a crash leaves
nothing of them. Pseudonyms are MACs, spread evenly: runs are merged range by range of pseudonyms,
each range with what all runs have in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from owner_agent.randomize.reports import SortedReports
from owner_agent.state.scratch import ScratchColumn
from pramana_core.errors import DuplicateRecordId
from pramana_core.marginals.counts import Codes
from pramana_core.plan import Plan
from pramana_core.progress import Progress
from pramana_core.wire.base import KEY_BYTES
from pramana_core.wire.parts import Pseudonyms, code_dtype, key_order

_RANGE_BITS = 12
"""Where each of so many ranges of pseudonyms begins in a run is known."""


class ScratchReports:
    """Reports in files without a name, appended piece by piece."""

    def __init__(self, folder: Path, plan: Plan):
        self.keys = ScratchColumn(folder, f"V{KEY_BYTES}")
        self.columns = {
            name: ScratchColumn(folder, code_dtype(size))
            for name, size in plan.reported_sizes.items()
        }
        self._plan = plan

    def append(self, keys: Pseudonyms, columns: Mapping[str, Codes]) -> None:
        """Put records after the last. Raises StorageFull."""
        self.keys.append(keys)
        for name, codes in columns.items():
            self.columns[name].append(codes)

    @property
    def reports(self) -> SortedReports:
        """What was appended, of which every pseudonym was above the one before."""
        return SortedReports(self._plan, self.keys, self.columns)


class SortedRuns:
    """Runs of reports, each sorted by pseudonym; of a table that is wrong, of pseudonyms alone."""

    def __init__(self, folder: Path, plan: Plan):
        """Begin; `folder` is where the files lie."""
        self._folder = folder
        self._plan = plan
        self._held = ScratchReports(folder, plan)
        self._starts: list[int] = []
        self._bounds: list[npt.NDArray[np.uint32]] = []

    def __len__(self) -> int:
        """Return how many records there are."""
        return len(self._held.keys)

    def add(self, keys: Pseudonyms, columns: Mapping[str, Codes]) -> None:
        """Add a run. Raises StorageFull.

        Args:
            keys: pseudonyms, ascending; some may be repeated.
            columns: the reports; none, from the run on with which something was wrong.
        """
        high = keys.view(">u2")[:: KEY_BYTES // 2] >> (16 - _RANGE_BITS)
        inside = np.searchsorted(high, np.arange((1 << _RANGE_BITS) + 1))
        self._starts.append(len(self))
        self._bounds.append(inside.astype(np.uint32))
        self._held.append(keys, columns)

    def merged(self, rows: int, progress: Progress) -> SortedReports:
        """Return all reports in one piece.

        Args:
            rows: about so many are in memory.
            progress: told how many records are merged.

        Raises:
            DuplicateRecordId: a pseudonym is there more than once; `repeated` has which.
            StorageFull: there is no room.
        """
        whole = ScratchReports(self._folder, self._plan)
        for places in self._ranges(rows):
            keys = _joined(self._held.keys, places)
            order = key_order(keys)
            columns = {n: _joined(c, places)[order] for n, c in self._held.columns.items()}
            whole.append(keys[order], columns)
            progress(len(whole.keys), len(self))
        return whole.reports

    def repeated(self, rows: int) -> Pseudonyms:
        """Return the pseudonyms that are there more than once, ascending; `rows` as in `merged`."""
        found = [np.empty(0, dtype=f"S{KEY_BYTES}")]
        for places in self._ranges(rows):
            keys = _joined(self._held.keys, places)
            try:
                key_order(keys)
            except DuplicateRecordId:
                ordered = np.sort(keys.view(f"S{KEY_BYTES}"))
                found.append(np.unique(ordered[1:][ordered[1:] == ordered[:-1]]))
        return np.concatenate(found).view(f"V{KEY_BYTES}")

    def _ranges(self, rows: int) -> Iterator[list[slice]]:
        """Yield where the records of a range of pseudonyms are in all runs, range by range."""
        ends = np.asarray(np.sum(self._bounds, axis=0, dtype=np.int64))[1:]
        first = 0
        while first < len(ends):
            before = ends[first - 1] if first else 0
            last = max(first + 1, int(np.searchsorted(ends, before + rows, side="right")))
            if ends[last - 1] > before:
                yield [
                    slice(start + int(inside[first]), start + int(inside[last]))
                    for start, inside in zip(self._starts, self._bounds, strict=True)
                ]
            first = last


def _joined(column: ScratchColumn, places: list[slice]) -> npt.NDArray[Any]:
    return np.concatenate([column[rows] for rows in places])
