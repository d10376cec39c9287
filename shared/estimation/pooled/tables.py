"""Tables pooled over all reports that hold their variables, consistent and not negative."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from shared.domain import Domain
from shared.errors import LimitExceeded
from shared.estimation.core.axes import arrange, axes_of, observed, sum_unasked
from shared.estimation.core.information import INFORMATION_CELLS
from shared.estimation.core.strata import Stratum, moment
from shared.estimation.tables.estimates import EstimatedTable
from shared.marginals.counts import Reports, Tensor
from shared.plan import Plan
from shared.progress import Tick, unstopped

_ROUNDS, _CLOSE = 200, 1e-9


class PooledTables:
    """Tables of reports of few variables at a time.

    A pair is estimated from all reports that hold either of its variables, shrunk towards
    independence as its own error demands, and given margins that all tables share. Larger tables
    have the largest entropy for given pairs.
    """

    def __init__(self, reported: Reports, plan: Plan, order: int = 2, tick: Tick = unstopped):
        self._reported, self._plan, self._order, self._tick = reported, plan, order, tick
        self._known: dict[tuple[str, ...], EstimatedTable] = {}

    def table(self, domain: Domain) -> EstimatedTable:
        """Return the table over some variables."""
        names = domain.names
        if names not in self._known:
            self._tick()
            made = self._small(domain) if len(names) <= 2 else self._large(domain)
            self._known[names] = made
        return self._known[names]

    def _raw(self, domain: Domain) -> EstimatedTable:
        axes = axes_of(self._plan, domain.names)
        stratum = Stratum(observed(self._reported, axes), tuple(a.channel for a in axes))
        counts = arrange(sum_unasked(moment([stratum]), axes), axes, domain)
        records = self._reported.records
        return EstimatedTable(domain, counts, records, stratum.reported, tuple(axes))

    def _small(self, domain: Domain) -> EstimatedTable:
        raw = self._raw(domain)
        covariance = raw.covariance(population=True)
        if len(domain) == 1:
            counts = _valid(raw.counts, raw.records)
            return self._with_errors(domain, counts, covariance)
        margins = [self.table(domain.project([name])).counts for name in domain.names]
        plain = np.multiply.outer(*margins) / raw.records
        apart = raw.counts - plain
        apart = apart - apart.mean(axis=0) - apart.mean(axis=1, keepdims=True) + apart.mean()
        freedom = (domain.shape[0] - 1) * (domain.shape[1] - 1)
        statistic = float(apart.ravel() @ np.linalg.pinv(covariance) @ apart.ravel())
        kept = max(0.0, 1.0 - freedom / statistic) if statistic > 0 else 0.0
        counts = np.maximum(plain + kept * apart, 1e-9 * raw.records)
        return self._with_errors(domain, _fitted(counts, [(0,), (1,)], margins), covariance)

    def _large(self, domain: Domain) -> EstimatedTable:
        if domain.size > INFORMATION_CELLS:
            raise LimitExceeded(
                f"A table of {domain.size} cells is too large; at most {INFORMATION_CELLS} are"
                " fitted.",
                remedy="Ask for fewer variables at once.",
            )
        pairs = list(itertools.combinations(range(len(domain)), 2))
        tables = [self.table(domain.project([domain.names[a] for a in p])).counts for p in pairs]
        start = np.full(domain.shape, self._reported.records / domain.size)
        counts = _fitted(start, pairs, tables)
        flat = counts.ravel()
        return self._with_errors(
            domain, counts, np.diag(flat) - np.outer(flat, flat) / self._reported.records
        )

    def _with_errors(self, domain: Domain, counts: Tensor, covariance: Tensor) -> EstimatedTable:
        flat, records = counts.ravel(), self._reported.records
        # `EstimatedTable` takes the multinomial term off second moments.
        second = covariance + np.outer(flat, flat) / records
        return EstimatedTable(domain, counts, records, counts, (), second)


def _valid(counts: Tensor, records: int) -> Tensor:
    positive = np.maximum(counts, 1e-9 * records)
    return np.asarray(positive * (records / positive.sum()), dtype=np.float64)


def _fitted(table: Tensor, sets: Sequence[tuple[int, ...]], margins: Sequence[Tensor]) -> Tensor:
    """Return the table scaled to given margins (iterative proportional fitting)."""
    made = table
    for _ in range(_ROUNDS):
        before = made
        for axes, margin in zip(sets, margins, strict=True):
            gone = tuple(a for a in range(table.ndim) if a not in axes)
            now = made.sum(axis=gone)
            ratio = np.divide(margin, now, out=np.zeros_like(now), where=now > 0)
            made = made * np.expand_dims(ratio, gone)
        if np.abs(made - before).max() <= _CLOSE * table.sum():
            break
    return made
