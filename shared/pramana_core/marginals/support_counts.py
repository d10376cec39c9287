"""Estimated supports of itemsets and of the parts of rules, with their errors.

An item is a category of a variable, and an itemset is a set of items of different variables. All
counts are numbers of records; a support is a count divided by the number of records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from pramana_core.marginals.score_interval import (
    FEW,
    deviates,
    normal_quantile,
    score_interval,
    variance_of,
)

Item = tuple[str, int]
"""A variable's name and the code of one of its categories."""

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

ROUNDING = 1e-12
"""A variance below this share of its count is rounding error."""


@dataclass(frozen=True, eq=False)
class _Counts:
    """Estimates of n itemsets or rules with errors; `before` has the counts before shrinkage."""

    records: int
    counts: Floats
    error_records: Floats
    error_population: Floats
    before: Self | None = None

    @property
    def unshrunk(self) -> Self:
        """The counts before shrinkage."""
        return self.before or self

    @classmethod
    def merged(cls, parts: Sequence[Self], rows: Sequence[Indices]) -> Self:
        """Return the estimates of all parts, each placed in its rows."""
        shrunk = any(part.before for part in parts)
        return cls(
            parts[0].records,
            _placed([part.counts for part in parts], rows),
            _placed([part.error_records for part in parts], rows),
            _placed([part.error_population for part in parts], rows),
            cls.merged([part.unshrunk for part in parts], rows) if shrunk else None,
        )


class SupportCounts(_Counts):
    """The estimated number of records that contain each of n itemsets.

    `counts` and the two variances have shape (n,) and may be negative; the method `variance`
    corrects negative variances.
    """

    def variance(self, *, population: bool) -> Floats:
        """Return each count's variance, given the records or for their population."""
        if population and self.records < FEW:
            shares = self.interval(normal_quantile(0.95), population=True)
            wide = variance_of(shares, self.counts / self.records, 0.95)
            return np.maximum(self.records**2 * wide, self.variance(population=False))
        if population:
            return np.maximum(self.error_population, 0.0)
        return np.where(self._exact, 0.0, np.maximum(self.error_records, 0.0))

    def interval(self, z: float, *, population: bool) -> tuple[Floats, Floats]:
        """Return the ends of score intervals that contain the supports, not cut to [0, 1]."""
        moments = self.unshrunk.moments(population=population)
        low, high = score_interval(*moments, self.records, z, population=population)
        share = self.counts / self.records
        return np.minimum(low, share), np.maximum(high, share)

    def deviates(self, support: float, *, population: bool) -> Floats:
        """Return the z of the intervals that end at `support`: their lower end if z > 0.

        These are the intervals before they were widened to contain shrunk estimates.
        """
        moments = self.unshrunk.moments(population=population)
        return deviates(support, *moments, self.records, population=population)

    @property
    def _exact(self) -> Flags:
        # NaN does not count as rounding either.
        return np.asarray(np.abs(self.error_records) <= ROUNDING * np.abs(self.counts))

    def moments(self, *, population: bool) -> tuple[Floats, Floats]:
        """Return the supports and the mean squares of their estimators."""
        share = self.counts / self.records
        if population:
            square = self.error_population / self.records + np.square(share)
        else:
            square = self.error_records / self.records + share
        return share, np.where(self._exact, share, square)


class RuleCounts(_Counts):
    """The numbers of records that contain the whole, antecedent and consequent of each of n rules.

    `counts` has shape (n, 3) in that order; the covariances have shape (n, 3, 3).
    """

    @property
    def wholes(self) -> SupportCounts:
        """The counts of records that contain the whole rule, in the form used for itemsets."""
        before = self.unshrunk
        counts = [
            SupportCounts(
                one.records,
                one.counts[:, 0],
                one.error_records[:, 0, 0],
                one.error_population[:, 0, 0],
            )
            for one in (self, before)
        ]
        return counts[0] if before is self else replace(counts[0], before=counts[1])

    def covariance(self, *, population: bool) -> Floats:
        """Return the covariance of the three counts of each rule, shape (n, 3, 3)."""
        return self.error_population if population else self.error_records


def excess_of(factors: Floats, records: Sequence[float]) -> Floats:
    """Return the mean, over all records, of the squared factor of the record's source, minus 1.

    `factors` has shape (sources, ...), and `records` the sources' record counts. Factors times
    record counts sum to the number of all records.
    """
    share = np.array(records) / sum(records)
    return weighted_sum(share, np.square(factors - 1.0))


def weighted_sum(factors: Floats, parts: Sequence[Floats] | Floats) -> Floats:
    """Return the weighted sum of the parts. For two parts, the order does not change any bit."""
    return _sum([factor * part for factor, part in zip(factors.tolist(), parts, strict=True)])


def _sum(arrays: Sequence[Floats]) -> Floats:
    total: Floats = np.sum(arrays, axis=0)
    return total


def _placed(arrays: Sequence[Floats], rows: Sequence[Indices]) -> Floats:
    whole = np.zeros((sum(map(len, rows)), *arrays[0].shape[1:]))
    for array, places in zip(arrays, rows, strict=True):
        whole[places] = array
    return whole
