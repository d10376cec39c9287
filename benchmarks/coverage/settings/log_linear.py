"""Tables and networks under a log-linear model, and the level of its test of fit."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from benchmarks.coverage.drawing import records_of, reports_of
from benchmarks.coverage.setting import Interval, Numbers, Setting
from pramana_core.channels import RESOLUTION, Choice, Sampled, Symmetric
from pramana_core.domain import Domain
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.networks.bayes_net import learn_parameters
from pramana_core.learn.networks.structure import Structure
from pramana_core.plan import Block, Plan

LEVEL = 0.05
"""At which the test of fit is counted: so often it may reject a model that holds."""

_EDGE = (
    "the likelihood ratio covers more often than it says where few records leave cells near 0, the"
    " end of their scale"
)


def domain_of(*sizes: int) -> Domain:
    """Return variables a, b, ... with so many categories each."""
    return Domain.of(**{name: "stuvwxyz"[:k] for name, k in zip("abcdef", sizes, strict=False)})


def interacting(domain: Domain, strength: float, order: int = 2, seed: int = 5) -> Numbers:
    """Return a law with effects of all sets of up to `order` variables, normal on the log scale."""
    rng = np.random.default_rng(seed)
    height = np.zeros(domain.shape)
    axes = range(len(domain))
    for size in range(1, order + 1):
        for chosen in itertools.combinations(axes, size):
            effect = rng.normal(size=[domain.shape[a] for a in chosen]) * strength
            height += effect.reshape([domain.shape[a] if a in chosen else 1 for a in axes])
    theta = np.exp(height)
    return np.asarray(theta / theta.sum(), dtype=np.float64)


def columns(domain: Domain, p: float) -> Plan:
    """Return a plan that changes each value on its own with probability p."""
    return Plan(
        tuple(Block((v,), Symmetric.from_gamma(v.size, (1 - p) * (v.size - 1) / p)) for v in domain)
    )


def sampled(domain: Domain, sets: Sequence[Sequence[int]], gamma: float) -> Plan:
    """Return a plan by which each record reports one of some sets of variables."""
    choices = tuple(
        Choice(
            tuple(axes),
            RESOLUTION // len(sets),
            Symmetric.from_gamma(math.prod(domain.shape[a] for a in axes), gamma),
        )
        for axes in sets
    )
    return Plan((Block(domain.variables, Sampled(domain.shape, choices)),))


def sampled_pairs(domain: Domain, gamma: float) -> Plan:
    """Return a plan by which each record reports one pair of variables."""
    return sampled(domain, list(itertools.combinations(range(len(domain)), 2)), gamma)


def marginals_of(
    plan: Plan, law: Numbers, records: int, rng: np.random.Generator
) -> EstimatedMarginals:
    """Draw records, randomize them and read the reports by the log-linear model of pairs."""
    reports = reports_of(plan, records_of(plan, law, records, rng), rng)
    return EstimatedMarginals(reports, plan, estimator="log-linear", order=2)


def cells(plan: Plan, law: Numbers, records: int, rng: np.random.Generator) -> Interval:
    """Repeat the intervals of all cells."""
    table = marginals_of(plan, law, records, rng).marginal(plan.domain.names)
    low, high = table.interval(population=True)
    return Interval(records * law.ravel(), low.ravel(), high.ravel())


def network(plan: Plan, law: Numbers, records: int, rng: np.random.Generator) -> Interval:
    """Repeat the intervals of the parameters of the last variable given the first two."""
    first, second, *_, last = plan.domain.names
    learned = learn_parameters(
        marginals_of(plan, law, records, rng),
        Structure.of({first: (), second: (), last: (first, second)}),
    )
    family = learned.families[-1]
    joint = law.sum(axis=tuple(range(2, law.ndim - 1)))
    truth = joint / joint.sum(axis=-1, keepdims=True)
    return Interval(truth.ravel(), family.low.ravel(), family.high.ravel())


def level(plan: Plan, law: Numbers, records: int, rng: np.random.Generator) -> Interval:
    """Repeat the test of fit: an interval from the level up, for the p-value to be in."""
    marginals = marginals_of(plan, law, records, rng)
    marginals.marginal(plan.domain.names)
    (test,) = marginals.lack_of_fit
    return Interval(np.nan if test.p_value is None else test.p_value, LEVEL, 1.0)


_MIXED, _BITS, _WIDE = domain_of(3, 2, 4), domain_of(2, 2, 2, 2), domain_of(3, 4, 4)

SETTINGS: tuple[Setting, ...] = (
    Setting(
        "cells, log-linear",
        "3 x 2 x 4, pairs sampled at gamma 9, N = 200",
        1320,
        lambda rng: cells(sampled_pairs(_MIXED, 9.0), interacting(_MIXED, 0.4), 200, rng),
        below=1.0,
        why=_EDGE,
    ),
    Setting(
        "cells, log-linear",
        "3 x 2 x 4, pairs sampled at gamma 9, N = 1,000",
        1321,
        lambda rng: cells(sampled_pairs(_MIXED, 9.0), interacting(_MIXED, 0.4), 1000, rng),
    ),
    Setting(
        "cells, log-linear",
        "2 x 2 x 2 x 2, each value changed with p = .2, N = 200",
        1322,
        lambda rng: cells(columns(_BITS, 0.2), interacting(_BITS, 0.5), 200, rng),
    ),
    Setting(
        "cells, log-linear",
        "2 x 2 x 2 x 2, each value changed with p = .2, N = 1,000",
        1323,
        lambda rng: cells(columns(_BITS, 0.2), interacting(_BITS, 0.5), 1000, rng),
    ),
    Setting(
        "cells, log-linear",
        "2 x 2 x 2 x 2, each value changed with p = .4, N = 200",
        1324,
        lambda rng: cells(columns(_BITS, 0.4), interacting(_BITS, 0.5), 200, rng),
        below=1.0,
        why=_EDGE,
    ),
    Setting(
        "network parameters, log-linear",
        "3 x 2 x 4, pairs sampled at gamma 9, N = 200",
        1325,
        lambda rng: network(sampled_pairs(_MIXED, 9.0), interacting(_MIXED, 0.4), 200, rng),
        below=1.0,
        why=_EDGE,
        short=30,
    ),
    Setting(
        "network parameters, log-linear",
        "2 x 2 x 2 x 2, each value changed with p = .2, N = 1,000",
        1326,
        lambda rng: network(columns(_BITS, 0.2), interacting(_BITS, 0.5), 1000, rng),
    ),
    Setting(
        "p-value of fit at least .05, log-linear",
        "3 x 4 x 4, each value changed with p = .2, N = 200, no interaction above the order",
        1327,
        lambda rng: level(columns(_WIDE, 0.2), interacting(_WIDE, 0.5), 200, rng),
        below=1.0,
        why="the test's level is a bound",
    ),
)
