"""Estimates that take long can be stopped amid the work, by what they call all along."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from pramana_core.channels import Symmetric
from pramana_core.domain import Domain
from pramana_core.errors import JobCancelled
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Block, Plan

DOMAIN = Domain.of(a="01", b="012", c="01", d="01", e="01")


def source(seed: int, p: float, records: int = 3_000) -> tuple[ReportedCounts, Plan]:
    """Reports of uniform records: under heavy noise no moment estimate is a distribution."""
    rng = np.random.default_rng(seed)
    plan = Plan(tuple(Block((v,), Symmetric.from_probability(v.size, p)) for v in DOMAIN))
    columns = {v.name: rng.integers(0, v.size, records).astype(np.uint8) for v in DOMAIN}
    return ReportedCounts(columns, plan.reported_sizes), plan


ONE, TWO = [source(1, 0.4)], [source(1, 0.4), source(2, 0.35)]
ITEMS = [(v.name, code) for v in DOMAIN for code in range(v.size)]
PAIRS = np.array(
    [[i, j] for i in range(len(ITEMS)) for j in range(i) if ITEMS[i][0] != ITEMS[j][0]]
)
CHAIN = {"a": [], "b": ["a"], "c": ["b"], "d": ["c"], "e": ["d"]}

WORK: dict[
    str, tuple[list[tuple[ReportedCounts, Plan]], str, Callable[[EstimatedMarginals], object]]
]
WORK = {
    "table": (ONE, "ml", lambda m: m.marginal(DOMAIN.names)),
    "table of two sources": (TWO, "ml", lambda m: m.marginal(DOMAIN.names)),
    "expected counts": (ONE, "ml", lambda m: m.expected(DOMAIN.names)),
    "independence": (ONE, "moment", lambda m: m.independence(["a"], ["b"], ["c", "d"]).ratio),
    "bootstrap": (
        ONE,
        "moment",
        lambda m: m.independence(["a"], ["b"], ["c"]).resampled(20, np.random.default_rng(1)),
    ),
    "explanation": (ONE, "moment", lambda m: m.explanation(CHAIN).log_likelihood),
    "pooled table": (
        ONE,
        "pooled",
        lambda m: m.marginal(DOMAIN.names[:3]).interval(population=True),
    ),
    "supports": (ONE, "ml", lambda m: m.supports(ITEMS).counts(np.sort(PAIRS, axis=1))),
}


def calls_of(name: str, last: int = 0) -> int:
    """Do the work, stopping it at a call where one is given; return how many calls there were."""
    sources, estimator, work = WORK[name]
    calls: list[None] = []

    def tick() -> None:
        calls.append(None)
        if len(calls) == last:
            raise JobCancelled("Enough.")

    marginals = EstimatedMarginals.of(sources, estimator=estimator, tick=tick)
    if last == 0:
        work(marginals)
    else:
        with pytest.raises(JobCancelled):
            work(marginals)
    return len(calls)


@pytest.mark.parametrize("name", WORK)
def test_work_stops_wherever_it_is_told_to(name: str):
    """At its first call, at its last, and at one between."""
    whole = calls_of(name)
    assert whole >= 10
    for last in (1, whole // 2, whole):
        assert calls_of(name, last) == last
