"""Counts and 1.96 of their standard errors: of owners with different noise, and of pooled pairs.

Intervals are made otherwise where counts are small (`score_interval`); here the printed errors
themselves have to be as large as they say, on either side of the raw count.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.coverage.log_linear import columns, domain_of, interacting, sampled_pairs
from benchmarks.coverage.setting import Interval, Numbers, Setting, records_of, reports_of
from pramana_core.domain import Domain
from pramana_core.estimation.estimated import EstimatedMarginals, Estimator
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.marginals.score_interval import normal_quantile
from pramana_core.plan import Plan

_Z = normal_quantile(0.95)


def _repeated(
    sources: Sequence[tuple[Plan, int]],
    law: Numbers,
    estimator: Estimator,
    *,
    population: bool,
) -> Callable[[np.random.Generator], Interval]:
    """Return what draws records, estimates all pairs of variables and takes errors about them."""
    domain = sources[0][0].domain
    pairs = [tuple(names) for names in itertools.combinations(domain.names, 2)]

    def repeat(rng: np.random.Generator) -> Interval:
        reports, true = [], np.zeros(law.shape)
        for plan, records in sources:
            drawn = records_of(plan, law, records, rng)
            counted = ReportedCounts(drawn, dict(zip(domain.names, law.shape, strict=True)))
            true += records * law if population else counted.table(domain.names)
            reports.append((reports_of(plan, drawn, rng), plan))
        marginals = EstimatedMarginals.of(reports, estimator=estimator)
        found = []
        for names in pairs:
            gone = tuple(i for i, name in enumerate(domain.names) if name not in names)
            table = marginals.marginal(names).unshrunk
            half = _Z * table.standard_error(population=population)
            found.append((true.sum(axis=gone), table.counts - half, table.counts + half))
        return Interval(*(np.concatenate([p.ravel() for p in x]) for x in zip(*found, strict=True)))

    return repeat


_POPULATIONS: tuple[tuple[str, Domain, Numbers], ...] = tuple(
    (words, domain, interacting(domain, strength))
    for words, domain, strength in (
        ("3 x 2 x 4", domain_of(3, 2, 4), 0.4),
        ("2 x 2 x 2 x 2, hardly any interaction", domain_of(2, 2, 2, 2), 0.1),
        ("2 x 3 x 3, strong interactions", domain_of(2, 3, 3), 0.8),
    )
)

_POOLED = tuple(
    Setting(
        "counts of pairs, 1.96 standard errors about them, pooled, given the records",
        f"{words}, pairs sampled at gamma {gamma:g}, N = {records:,}",
        1470 + 2 * number + place,
        _repeated([(sampled_pairs(domain, gamma), records)], law, "pooled", population=False),
        worst=0.9,
    )
    for number, (words, domain, law) in enumerate(_POPULATIONS)
    for place, (gamma, records) in enumerate(((5.0, 400), (19.0, 1000)))
)

_OWNERS = tuple(
    Setting(
        "counts of pairs, 1.96 standard errors about them, two owners"
        + ("" if population else ", given the records"),
        f"{words}, {first} records at p = .1 and {second:,} at p = .4",
        1450 + 4 * number + 2 * place + population,
        _repeated(
            [(columns(domain, 0.1), first), (columns(domain, 0.4), second)],
            law,
            "moment",
            population=population,
        ),
        worst=0.9,
    )
    for number, (words, domain, law) in enumerate(_POPULATIONS)
    for place, (first, second) in enumerate(((400, 400), (1000, 10_000)))
    for population in (False, True)
)

SETTINGS: tuple[Setting, ...] = (*_POOLED, *_OWNERS)
