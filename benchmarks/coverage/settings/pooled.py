"""Tables pooled over overlapping sets: pairs, larger tables, shares, and tests of independence."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
from scipy import stats

from benchmarks.coverage.setting import Interval, Numbers, Setting, estimated
from benchmarks.coverage.settings.log_linear import (
    LEVEL,
    cells,
    domain_of,
    interacting,
    sampled,
    sampled_pairs,
)
from pramana_core.channels import RESOLUTION, Choice, Sampled, Symmetric
from pramana_core.domain import Domain, Variable
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Block, Plan

marginals_of = partial(estimated, estimator="pooled", order=2)
"""Draws records, randomizes them and pools the reports."""


def pairs(plan: Plan, law: Numbers, records: int, rng: np.random.Generator) -> Interval:
    """Repeat the intervals of all cells of all pairs."""
    marginals = marginals_of(plan, law, records, rng)
    names, found = plan.domain.names, []
    for axes in itertools.combinations(range(len(names)), 2):
        table = marginals.marginal([names[a] for a in axes])
        true = law.sum(axis=tuple(a for a in range(law.ndim) if a not in axes))
        found.append((records * true, *table.interval(population=True)))
    return Interval(*(np.concatenate([np.ravel(p) for p in x]) for x in zip(*found, strict=True)))


pooled_cells = partial(cells, estimator="pooled")
"""Repeats the intervals of all cells of the whole table."""


def shares(plan: Plan, law: Numbers, records: int, rng: np.random.Generator) -> Interval:
    """Repeat the intervals of the last variable's shares given the first."""
    first, *_, last = plan.domain.names
    low, high = marginals_of(plan, law, records, rng).marginal([first, last]).ratio_interval([last])
    joint = law.sum(axis=tuple(range(1, law.ndim - 1)))
    truth = joint / joint.sum(axis=-1, keepdims=True)
    return Interval(truth.ravel(), low.ravel(), high.ravel())


def level(plan: Plan, law: Numbers, records: int, rng: np.random.Generator) -> Interval:
    """Repeat a test of an independence that holds: an interval from the level up."""
    first, second, *given = plan.domain.names
    evidence = marginals_of(plan, law, records, rng).independence([first], [second], given)
    p_value = stats.chi2(evidence.degrees_of_freedom).sf(2 * evidence.ratio)
    return Interval(p_value, LEVEL, 1.0)


def apart_given_last(domain: Domain, seed: int = 5) -> Numbers:
    """Return a law by which all variables but the last are independent given it."""
    rng = np.random.default_rng(seed)
    last = rng.dirichlet(np.full(domain.shape[-1], 5.0))
    law = last
    for size in reversed(domain.shape[:-1]):
        own = rng.dirichlet(np.full(size, 3.0), size=len(last)).T
        law = own.reshape(size, *[1] * (law.ndim - 1), len(last)) * law
    return np.asarray(law, dtype=np.float64)


def triples(domain: Domain, gamma: float) -> Plan:
    """Return a plan by which each record reports three variables or two."""
    axes = range(len(domain))
    return sampled(
        domain, [chosen for size in (2, 3) for chosen in itertools.combinations(axes, size)], gamma
    )


def wide(count: int, records: int, gamma: float, rng: np.random.Generator) -> Interval:
    """Repeat the intervals of pairs of many variables, a chain of which each follows the last.

    Only the neighbours depend on each other; every pair is reported by a few records.
    """
    size, stays = 3, 0.5
    values = rng.integers(0, size, (count, records))
    for place in range(1, count):
        same = rng.random(records) < stays
        values[place, same] = values[place - 1, same]
    sets = np.array(list(itertools.combinations(range(count), 2)))
    channel = Symmetric.from_gamma(size * size, gamma)
    choices = tuple(Choice((int(a), int(b)), RESOLUTION // len(sets), channel) for a, b in sets)
    domain = Domain(tuple(Variable(f"v{i:02}", ("s", "t", "u")) for i in range(count)))
    plan = Plan((Block(domain.variables, Sampled(domain.shape, choices)),))
    chosen = sets[rng.integers(0, len(sets), records)]
    rows = np.arange(records)
    law = channel.matrix()
    cell = values[chosen[:, 0], rows] * size + values[chosen[:, 1], rows]
    told = (rng.random(records)[:, None] > np.cumsum(law, axis=1)[cell]).sum(axis=1)
    columns = np.full((count, records), size, dtype=np.uint8)
    columns[chosen[:, 0], rows], columns[chosen[:, 1], rows] = told // size, told % size
    reports = ReportedCounts(dict(zip(domain.names, columns, strict=True)), plan.reported_sizes)
    marginals = EstimatedMarginals(reports, plan, estimator="pooled")
    found = []
    for left, right in ((0, 1), (0, 2), (0, count - 1), (5, 6), (7, 11)):
        table = marginals.marginal([domain.names[left], domain.names[right]])
        tied = stays ** (right - left)
        true = tied * np.eye(size) / size + (1 - tied) / size**2
        found.append((records * true, *table.interval(population=True)))
    return Interval(*(np.concatenate([np.ravel(p) for p in x]) for x in zip(*found, strict=True)))


_MIXED, _MANY = domain_of(3, 2, 4), domain_of(8, 6)

SETTINGS: tuple[Setting, ...] = (
    Setting(
        "cells of pairs, pooled",
        "3 x 2 x 4, pairs sampled at gamma 9, N = 300",
        1400,
        lambda rng: pairs(sampled_pairs(_MIXED, 9.0), interacting(_MIXED, 0.4), 300, rng),
    ),
    Setting(
        "cells of pairs, pooled",
        "3 x 2 x 4, pairs sampled at gamma 19, N = 2,000",
        1401,
        lambda rng: pairs(sampled_pairs(_MIXED, 19.0), interacting(_MIXED, 0.4), 2000, rng),
    ),
    Setting(
        "cells of pairs, pooled",
        "5 of 190 pairs of a chain of 20 variables, pairs sampled at gamma 19, N = 20,000",
        1402,
        lambda rng: wide(20, 20_000, 19.0, rng),
        short=30,
    ),
    Setting(
        "cells of three by their pairs, pooled",
        "3 x 2 x 4, pairs sampled at gamma 9, N = 1,000",
        1403,
        lambda rng: pooled_cells(sampled_pairs(_MIXED, 9.0), interacting(_MIXED, 0.4), 1000, rng),
    ),
    Setting(
        "cells of three told together, pooled to order 3",
        "3 x 2 x 4 with interactions of three, pairs and triples sampled at gamma 19, N = 2,000",
        1404,
        lambda rng: pooled_cells(
            triples(_MIXED, 19.0), interacting(_MIXED, 0.4, 3), 2000, rng, order=3
        ),
    ),
    Setting(
        "shares given another variable, pooled",
        "3 x 2 x 4, pairs sampled at gamma 19, N = 2,000",
        1405,
        lambda rng: shares(sampled_pairs(_MIXED, 19.0), interacting(_MIXED, 0.4), 2000, rng),
    ),
    Setting(
        "p-value of independence at least .05, pooled",
        "3 x 2 given 4 categories, pairs sampled at gamma 9, N = 2,000, independent",
        1406,
        lambda rng: level(sampled_pairs(_MIXED, 9.0), apart_given_last(_MIXED), 2000, rng),
    ),
    Setting(
        "cells of a pair of many categories, pooled",
        "8 x 6, sampled at gamma 19, N = 3,000",
        1407,
        lambda rng: pairs(sampled_pairs(_MANY, 19.0), interacting(_MANY, 0.4), 3000, rng),
        short=60,
    ),
)
