"""Three variables and more that act together, reported together: by the order taken by default."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.coverage.drawing import records_of, reports_of
from benchmarks.coverage.setting import Interval, Numbers, Setting
from benchmarks.coverage.settings.log_linear import columns, domain_of, interacting
from shared.channels import RESOLUTION, Choice, Sampled, Symmetric
from shared.domain import Domain
from shared.estimation.estimated import EstimatedMarginals, Estimator
from shared.learn.networks.bayes_net import learn_parameters
from shared.learn.networks.structure import Structure
from shared.plan import Block, Plan

_BITS, _FAMILY = domain_of(2, 2, 2, 2), domain_of(3, 3, 2, 3)


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


def parity(domain: Domain, kept: float = 0.95) -> Numbers:
    """Return a law of bits of which the third is the parity of the first two, mostly."""
    first, second, third, *_ = np.indices(domain.shape)
    law = np.where(first ^ second == third, kept, 1 - kept)
    return np.asarray(law / law.sum(), dtype=np.float64)


def _marginals(
    plan: Plan, law: Numbers, records: int, estimator: Estimator, rng: np.random.Generator
) -> EstimatedMarginals:
    reports = reports_of(plan, records_of(plan, law, records, rng), rng)
    return EstimatedMarginals(reports, plan, estimator=estimator)


def cells(
    plan: Plan, law: Numbers, records: int, estimator: Estimator = "pooled"
) -> Callable[[np.random.Generator], Interval]:
    """Return what estimates the table of the first three variables once."""
    truth = records * law.sum(axis=tuple(range(3, law.ndim))).ravel()

    def repeat(rng: np.random.Generator) -> Interval:
        marginals = _marginals(plan, law, records, estimator, rng)
        low, high = marginals.marginal(plan.domain.names[:3]).interval(population=True)
        return Interval(truth, low.ravel(), high.ravel())

    return repeat


def family(plan: Plan, law: Numbers, records: int) -> Callable[[np.random.Generator], Interval]:
    """Return what learns the last variable's parameters, given all others, once."""
    *parents, node = plan.domain.names
    structure = Structure.of({**dict.fromkeys(parents, ()), node: parents})
    truth = law / law.sum(axis=-1, keepdims=True)

    def repeat(rng: np.random.Generator) -> Interval:
        found = learn_parameters(_marginals(plan, law, records, "pooled", rng), structure)
        learned = next(one for one in found.families if one.node == node)
        return Interval(truth.ravel(), learned.low.ravel(), learned.high.ravel())

    return repeat


_TRIPLES = list(itertools.combinations(range(4), 3))

SETTINGS: tuple[Setting, ...] = (
    Setting(
        "cells of a parity of three, pooled",
        "2 x 2 x 2 x 2, triples sampled at gamma 100, N = 20,000",
        1410,
        cells(sampled(_BITS, _TRIPLES, 100.0), parity(_BITS), 20_000),
    ),
    Setting(
        "cells of a parity of three, log-linear",
        "2 x 2 x 2 x 2, triples sampled at gamma 100, N = 20,000",
        1411,
        cells(sampled(_BITS, _TRIPLES, 100.0), parity(_BITS), 20_000, "log-linear"),
    ),
    Setting(
        "cells of three that interact, log-linear",
        "2 x 2 x 2 x 2, each value changed with p = .2, N = 2,000",
        1412,
        cells(columns(_BITS, 0.2), interacting(_BITS, 0.5, 3), 2_000, "log-linear"),
    ),
    Setting(
        "network parameters of three parents, pooled",
        "3 x 3 x 2 x 3 with interactions of four, all or three sampled at gamma 19, N = 50,000",
        1413,
        family(
            sampled(_FAMILY, [*_TRIPLES, (0, 1, 2, 3)], 19.0), interacting(_FAMILY, 0.3, 4), 50_000
        ),
        short=40,
    ),
)
