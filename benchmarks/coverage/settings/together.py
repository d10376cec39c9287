"""Three variables that act together and are reported together: by the order taken by default."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from benchmarks.coverage.drawing import records_of, reports_of
from benchmarks.coverage.setting import Interval, Numbers, Setting
from benchmarks.coverage.settings.log_linear import domain_of, sampled
from pramana_core.domain import Domain
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.networks.bayes_net import learn_parameters
from pramana_core.learn.networks.structure import Structure
from pramana_core.plan import Plan

_BITS = domain_of(2, 2, 2, 2)


def parity(domain: Domain, kept: float = 0.95) -> Numbers:
    """Return a law of bits of which the third is the parity of the first two, mostly."""
    first, second, third, *_ = np.indices(domain.shape)
    law = np.where(first ^ second == third, kept, 1 - kept)
    return np.asarray(law / law.sum(), dtype=np.float64)


def cells(plan: Plan, law: Numbers, records: int) -> Callable[[np.random.Generator], Interval]:
    """Return what estimates the table of the first three variables once."""
    truth = records * law.sum(axis=tuple(range(3, law.ndim))).ravel()

    def repeat(rng: np.random.Generator) -> Interval:
        reports = reports_of(plan, records_of(plan, law, records, rng), rng)
        marginals = EstimatedMarginals(reports, plan, estimator="pooled")
        low, high = marginals.marginal(plan.domain.names[:3]).interval(population=True)
        return Interval(truth, low.ravel(), high.ravel())

    return repeat


def parameters(plan: Plan, law: Numbers, records: int) -> Callable[[np.random.Generator], Interval]:
    """Return what learns the probabilities of the fourth variable given the first three once."""
    *parents, node = plan.domain.names[:4]
    joint = law.sum(axis=tuple(range(4, law.ndim)))
    truth = (joint / joint.sum(axis=-1, keepdims=True)).ravel()
    structure = Structure.of(dict.fromkeys(parents, ()) | {node: tuple(parents)})

    def repeat(rng: np.random.Generator) -> Interval:
        reports = reports_of(plan, records_of(plan, law, records, rng), rng)
        learned = learn_parameters(EstimatedMarginals(reports, plan, estimator="pooled"), structure)
        family = learned.families[-1]
        return Interval(truth, family.low.ravel(), family.high.ravel())

    return repeat


def given_three(domain: Domain, kept: float = 0.85) -> Numbers:
    """Return a law of bits of which the fourth is mostly whether two or more of three are 1."""
    one, two, three, four, *_ = np.indices(domain.shape)
    law = np.where((one + two + three >= 2) == four, kept, 1 - kept)
    return np.asarray(law / law.sum(), dtype=np.float64)


_FIVE = domain_of(2, 2, 2, 2, 2)
_FOURS = list(itertools.combinations(range(5), 4))
_TRIPLES = list(itertools.combinations(range(4), 3))

SETTINGS: tuple[Setting, ...] = (
    Setting(
        "cells of a parity of three, pooled",
        "2 x 2 x 2 x 2, triples sampled at gamma 100, N = 20,000",
        1410,
        cells(sampled(_BITS, _TRIPLES, 100.0), parity(_BITS), 20_000),
        # Of the four rare cells, 250 records each, one is covered less often.
        worst=0.9,
    ),
    Setting(
        "network parameters, three parents, pooled",
        "2 x 2 x 2 x 2 x 2, sets of four sampled at gamma 19, N = 50,000",
        1411,
        parameters(sampled(_FIVE, _FOURS, 19.0), given_three(_FIVE), 50_000),
    ),
)
