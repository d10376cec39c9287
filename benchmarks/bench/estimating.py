"""Estimates from reports, and groups for numbers: beside pandas, and beside EM alone.

Learners are in `learning.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd

from benchmarks.bench.measuring import Bench, Comparison
from pramana_core.channels import Symmetric
from pramana_core.discretize import mgas
from pramana_core.domain import Domain
from pramana_core.estimation.core.likelihood import Maximum, climb, maximize, start
from pramana_core.estimation.core.loglinear import FactoredModel
from pramana_core.estimation.core.strata import Stratum
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Block, Plan


def tables_with_errors(bench: Bench) -> list[Comparison]:
    """Count five columns of five categories, invert, and give both standard errors."""
    rng = np.random.default_rng(2)
    domain = Domain.of(**{f"v{i}": "abcde" for i in range(5)})
    plan = Plan(tuple(Block((v,), Symmetric.from_gamma(5, 9.0)) for v in domain))
    records = bench.size(1_000_000)
    columns = {v.name: rng.integers(0, 5, records).astype(np.uint8) for v in domain}
    frame = pd.DataFrame(columns)

    def ours() -> object:
        marginals = EstimatedMarginals(ReportedCounts(columns, plan.reported_sizes), plan)
        table = marginals.marginal(domain.names)
        return table.counts, table.standard_error(population=True)

    return [
        Comparison(
            "count, invert, errors: 3,125 cells, 1M records",
            "pandas' groupby of the same cells, nothing inverted",
            ours,
            lambda: frame.groupby(list(domain.names), observed=False).size(),
        )
    ]


def maximum_likelihood(bench: Bench) -> list[Comparison]:
    """Eight binary variables at p = 0.4, where EM crawls; and fourteen, EM given a quarter."""
    eight = [_binary_reports(8, bench.size(100_000))]
    comparisons = [
        Comparison(
            "maximum likelihood of 256 cells at p = 0.4",
            "accelerated EM to the same certificate",
            partial(maximize, eight),
            partial(_by_em_alone, eight),
            rounds=3,
        )
    ]
    if not bench.quick:
        twelve, fourteen = ([_binary_reports(n, 50_000)] for n in (12, 14))
        comparisons.append(
            Comparison(
                "maximum likelihood of 16,384 cells at p = 0.4",
                "accelerated EM on 4,096 cells to the same certificate",
                partial(maximize, fourteen),
                partial(_by_em_alone, twelve),
                rounds=1,
            )
        )
    return comparisons


def _binary_reports(variables: int, records: int) -> Stratum:
    """Draw reports at p = 0.4 of a distribution with many rare cells."""
    rng = np.random.default_rng(1)
    theta = rng.dirichlet(np.full(2**variables, 0.3)).reshape((2,) * variables)
    channels = (Symmetric.from_probability(2, 0.4),) * variables
    law = Stratum(theta, channels).expected(theta[..., None])[:, 0]
    reports = rng.multinomial(records, law / law.sum()).reshape(theta.shape)
    return Stratum(reports.astype(float), channels)


def _by_em_alone(strata: Sequence[Stratum]) -> Maximum:
    model, begin = FactoredModel(strata[0].shape), start(strata)[0]
    return climb(strata, model, begin, tolerance=1e-4, steps=100_000)


def discretizing(bench: Bench) -> list[Comparison]:
    """MGAS of distinct values, in no particular order, on a grid of 1/64 of the granularity."""
    values = np.random.default_rng(4).normal(50.0, 10.0, bench.size(1_000_000))
    least = len(values) // 1000
    return [
        Comparison(
            "MGAS of 1M values to groups of at least 1,000",
            "pandas.qcut in 200 groups, which promises no width",
            lambda: mgas(values, minimum_count=least, granularity=0.25),
            lambda: pd.qcut(values, 200),
        )
    ]


GROUPS = (tables_with_errors, maximum_likelihood, discretizing)
