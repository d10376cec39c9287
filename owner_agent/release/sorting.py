"""External sorting of reports by pseudonym: sorted runs are written to disk, then merged.

The runs contain only pseudonyms and reports, in unnamed private files that end with the process.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from owner_agent.randomize.reports import SortedReports
from owner_agent.state.scratch import ScratchFile
from pramana_core.errors import DuplicateRecordId
from pramana_core.marginals.counts import Codes
from pramana_core.plan import Plan
from pramana_core.progress import Progress
from pramana_core.wire.base import KEY_BYTES
from pramana_core.wire.parts import Pseudonyms, code_dtype, key_order

_RANGE_BITS = 12
"""Each run records the start of each of 2^12 ranges of pseudonyms."""


class ScratchReports:
    """The reports of up to N records in an unnamed file, which is filled piece by piece."""

    def __init__(self, file: ScratchFile, plan: Plan, records: int):
        """Reserve space in a file without writing anything yet."""
        sizes = plan.reported_sizes.items()
        self.keys = file.column(f"V{KEY_BYTES}", records)
        self.columns = {name: file.column(code_dtype(size), records) for name, size in sizes}
        self._plan = plan
        self._filled = 0

    def append(self, keys: Pseudonyms, columns: Mapping[str, Codes]) -> int:
        """Append records; return the count of all records in the file. Raises StorageFull."""
        rows = slice(self._filled, self._filled + len(keys))
        self.keys[rows] = keys
        for name, codes in columns.items():
            self.columns[name][rows] = codes
        self._filled = rows.stop
        return self._filled

    @property
    def reports(self) -> SortedReports:
        """The reports in the file; their pseudonyms must have been appended in ascending order."""
        return SortedReports(self._plan, self.keys, self.columns)


class SortedRuns:
    """Runs of reports, each sorted by pseudonym; only pseudonyms if the table is invalid."""

    def __init__(self, folder: Path, plan: Plan):
        """Start without any run. Runs that are added will be stored in `folder`."""
        self._folder = folder
        self._plan = plan
        self._file = ScratchFile(folder)
        self._runs: list[ScratchReports] = []
        self._bounds: list[npt.NDArray[np.uint32]] = []

    def __len__(self) -> int:
        """Return the count of records in all runs."""
        return sum(len(run.keys) for run in self._runs)

    def add(self, keys: Pseudonyms, columns: Mapping[str, Codes]) -> None:
        """Add a run of ascending pseudonyms, with or without reports, to the file.

        Raises StorageFull.
        """
        high = keys.view(">u2")[:: KEY_BYTES // 2] >> (16 - _RANGE_BITS)
        bounds = np.searchsorted(high, np.arange((1 << _RANGE_BITS) + 1))
        self._bounds.append(bounds.astype(np.uint32))
        run = ScratchReports(self._file, self._plan, len(keys))
        run.append(keys, columns)
        self._runs.append(run)

    def merged(self, rows: int, progress: Progress) -> SortedReports:
        """Merge the runs, about `rows` rows in memory. Raises DuplicateRecordId, StorageFull."""
        whole = ScratchReports(ScratchFile(self._folder), self._plan, len(self))
        for places in self._ranges(rows):
            keys = np.concatenate([run.keys[inside] for run, inside in places])
            order = key_order(keys)
            columns = {
                name: np.concatenate([run.columns[name][inside] for run, inside in places])[order]
                for name in whole.columns
            }
            progress(whole.append(keys[order], columns), len(self))
        return whole.reports

    def repeated(self, rows: int) -> Pseudonyms:
        """Return the repeated pseudonyms, ascending, with about `rows` rows in memory."""
        found = [np.empty(0, dtype=f"S{KEY_BYTES}")]
        for places in self._ranges(rows):
            keys = np.concatenate([run.keys[inside] for run, inside in places])
            try:
                key_order(keys)
            except DuplicateRecordId:
                ordered = np.sort(keys.view(f"S{KEY_BYTES}"))
                found.append(np.unique(ordered[1:][ordered[1:] == ordered[:-1]]))
        return np.concatenate(found).view(f"V{KEY_BYTES}")

    def _ranges(self, rows: int) -> Iterator[list[tuple[ScratchReports, slice]]]:
        ends = np.asarray(np.sum(self._bounds, axis=0, dtype=np.int64))[1:]
        first = 0
        while first < len(ends):
            before = ends[first - 1] if first else 0
            last = max(first + 1, int(np.searchsorted(ends, before + rows, side="right")))
            if ends[last - 1] > before:
                yield [
                    (run, slice(int(bounds[first]), int(bounds[last])))
                    for run, bounds in zip(self._runs, self._bounds, strict=True)
                ]
            first = last
