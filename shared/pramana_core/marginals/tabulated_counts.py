"""Reported counts that came as tables, and what was added to them on purpose before they were told.

Noise of known variance in each count is one more error of every estimate made from it: an estimate
is a sum over the reports of a weight times a count, so that the variance of each count adds its
square of the weight times the noise's variance. Whatever else learners ask of reports, such as
their likelihood, is not known of counts with noise and refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pramana_core.errors import EstimationError, UnknownVariable
from pramana_core.marginals.counts import ReportTables

Counts = npt.NDArray[np.int64]


class TabulatedCounts:
    """Reported counts that came as tables; any table inside one of them can be asked."""

    def __init__(self, tables: Mapping[tuple[str, ...], Counts], records: int):
        self._tables = dict(tables)
        self.records = records

    def table(self, names: Sequence[str]) -> Counts:
        """Return the counts over the named columns. Raises UnknownVariable."""
        known = self._serving(names)
        gone = tuple(axis for axis, name in enumerate(known) if name not in names)
        left = [name for name in known if name in names]
        return np.transpose(self._tables[known].sum(axis=gone), [left.index(n) for n in names])

    def _serving(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the table that the counts over some columns are taken from."""
        fitting = [known for known in self._tables if set(names) <= set(known)]
        if not fitting:
            raise UnknownVariable(
                f"No counts over {list(names)} were sent.", where=", ".join(names)
            )
        return min(fitting, key=lambda known: self._cost(known, names))

    def _cost(self, known: tuple[str, ...], _names: Sequence[str]) -> float:
        return float(self._tables[known].size)


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """Counts with independent noise in each, of mean 0 and known variance; they may be negative."""

    counts: Counts
    variance: float


class NoisyCounts(TabulatedCounts):
    """Tables of reported counts, each count with noise of its own.

    Args:
        tables: by the names of their columns, axes in that order; their noise is independent.
        records: the number of records, which is known as it is.
    """

    def __init__(self, tables: Mapping[tuple[str, ...], NoisyTable], records: int):
        super().__init__({names: table.counts for names, table in tables.items()}, records)
        self._variances = {names: table.variance for names, table in tables.items()}

    def noise(self, names: Sequence[str]) -> float:
        """Return the variance of the noise in each count over the named columns.

        It is that of as many cells as are added up; of the tables that could serve the one with
        the least does. Raises UnknownVariable.
        """
        return self._cost(self._serving(names), names)

    def _cost(self, known: tuple[str, ...], names: Sequence[str]) -> float:
        shape: tuple[int, ...] = self._tables[known].shape
        sizes = zip(known, shape, strict=True)
        return self._variances[known] * math.prod(n for name, n in sizes if name not in names)


def noise_of(reports: ReportTables, names: Sequence[str]) -> float:
    """Return the variance of what was added to each count over some columns; 0 for plain counts."""
    return reports.noise(names) if isinstance(reports, NoisyCounts) else 0.0


def refuse_noise(reports: ReportTables) -> None:
    """Check that counts are those of the reports. Raises EstimationError where noise was added."""
    if isinstance(reports, NoisyCounts):
        raise EstimationError(
            "Counts with noise of their own are estimated by moments only; they have no likelihood"
            " here.",
            remedy="Ask for tables or for the parameters of a known structure, by moments.",
        )
