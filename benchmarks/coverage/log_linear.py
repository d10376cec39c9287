"""Estimates pooled over overlapping sets; networks learned by them.

Also here:

* Three variables that act together and are reported together: by the order taken by default.
* Conditional probabilities of networks, and their links.
* Tables pooled over overlapping sets: pairs, larger tables, shares, and tests of independence.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from scipy import stats

from benchmarks.coverage.cells import GROUPED, JOINT, LAW, independent
from benchmarks.coverage.setting import Interval, Numbers, Setting, estimated
from pramana_core.channels import RESOLUTION, Choice, Sampled, Symmetric
from pramana_core.domain import Domain, Variable
from pramana_core.estimation.estimated import EstimatedMarginals, Estimator
from pramana_core.learn.networks.bayes_net import learn_parameters
from pramana_core.learn.networks.structure import Structure
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Block, Plan

LEVEL = 0.05
"""At which the test of fit is counted: so often it may reject a model that holds."""


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


def cells(
    plan: Plan, law: Numbers, records: int, rng: np.random.Generator, order: int | None = None
) -> Interval:
    """Repeat the intervals of all cells of the whole table."""
    marginals = estimated(plan, law, records, rng, estimator="pooled", order=order)
    table = marginals.marginal(plan.domain.names)
    low, high = table.interval(population=True)
    return Interval(records * law.ravel(), low.ravel(), high.ravel())


# Three variables that act together and are reported together: by the order taken by default.

_FOUR_BITS = domain_of(2, 2, 2, 2)


def parity(domain: Domain, kept: float = 0.95) -> Numbers:
    """Return a law of bits of which the third is the parity of the first two, mostly."""
    first, second, third, *_ = np.indices(domain.shape)
    law = np.where(first ^ second == third, kept, 1 - kept)
    return np.asarray(law / law.sum(), dtype=np.float64)


def first_three(
    plan: Plan, law: Numbers, records: int
) -> Callable[[np.random.Generator], Interval]:
    """Return what estimates the table of the first three variables once."""
    truth = records * law.sum(axis=tuple(range(3, law.ndim))).ravel()

    def repeat(rng: np.random.Generator) -> Interval:
        marginals = estimated(plan, law, records, rng, estimator="pooled")
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
        marginals = estimated(plan, law, records, rng, estimator="pooled")
        family = learn_parameters(marginals, structure).families[-1]
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

TOGETHER: tuple[Setting, ...] = (
    Setting(
        "cells of a parity of three, pooled",
        "2 x 2 x 2 x 2, triples sampled at gamma 100, N = 20,000",
        1410,
        first_three(sampled(_FOUR_BITS, _TRIPLES, 100.0), parity(_FOUR_BITS), 20_000),
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


# Conditional probabilities of networks, and their links.

_NODES = ("a", "b", "c")


def _parameters(
    plan: Plan, records: int, parents: dict[str, list[str]], estimator: Estimator = "moment"
) -> Callable[[np.random.Generator], Interval]:
    """Return what learns the parameters of a network of three nodes once."""
    structure = Structure.of(parents)
    truth = np.concatenate([_true(node, found).ravel() for node, found in structure.families])

    def repeat(rng: np.random.Generator) -> Interval:
        marginals = estimated(plan, LAW, records, rng, estimator=estimator)
        families = learn_parameters(marginals, structure).families
        low = np.concatenate([family.low.ravel() for family in families])
        high = np.concatenate([family.high.ravel() for family in families])
        return Interval(truth, low, high)

    return repeat


def _true(node: str, parents: tuple[str, ...]) -> Numbers:
    """Return the conditional probabilities of a node under the law, its categories last."""
    asked = [*parents, node]
    left = [name for name in _NODES if name in asked]
    gone = tuple(i for i, name in enumerate(_NODES) if name not in asked)
    table = np.transpose(LAW.sum(axis=gone), [left.index(name) for name in asked])
    return np.asarray(table / table.sum(axis=-1, keepdims=True))


_WIDE_PLAN = (
    "Fieller's interval is all of [0, 1] where the reports do not tell whether anybody has such"
    " parents at all"
)

NETWORKS: tuple[Setting, ...] = (
    Setting(
        "network parameters by moments",
        "N = 200, a joint block of gamma 9 and a variable, p = .2",
        1350,
        _parameters(JOINT, 200, {"a": [], "b": ["a"], "c": ["a"]}),
    ),
    Setting(
        "network parameters by moments",
        "N = 200, a grouped block of p = .3 and a variable, p = .4",
        1351,
        _parameters(GROUPED, 200, {"a": [], "b": ["a"], "c": ["a"]}),
    ),
    Setting(
        "network parameters by moments",
        "N = 1,000, three variables, p = .4",
        1352,
        _parameters(independent(0.4), 1_000, {"a": [], "b": ["a"], "c": ["a"]}),
    ),
    Setting(
        "network parameters by moments, two parents",
        "N = 1,000, a joint block of gamma 9 and a variable, p = .2",
        1353,
        _parameters(JOINT, 1_000, {"a": [], "b": ["a"], "c": ["a", "b"]}),
        below=1.0,
        why=_WIDE_PLAN,
    ),
    Setting(
        "network parameters, pooled",
        "N = 2,000, three variables, pairs sampled at gamma 19",
        1432,
        _parameters(
            sampled_pairs(JOINT.domain, 19.0), 2_000, {"a": [], "b": ["a"], "c": ["a"]}, "pooled"
        ),
    ),
)


pooled_marginals = partial(estimated, estimator="pooled", order=2)
"""Draws records, randomizes them and pools the reports."""


def pairs(plan: Plan, law: Numbers, records: int, rng: np.random.Generator) -> Interval:
    """Repeat the intervals of all cells of all pairs."""
    marginals = pooled_marginals(plan, law, records, rng)
    names, found = plan.domain.names, []
    for axes in itertools.combinations(range(len(names)), 2):
        table = marginals.marginal([names[a] for a in axes])
        true = law.sum(axis=tuple(a for a in range(law.ndim) if a not in axes))
        found.append((records * true, *table.interval(population=True)))
    return Interval(*(np.concatenate([np.ravel(p) for p in x]) for x in zip(*found, strict=True)))


def shares(plan: Plan, law: Numbers, records: int, rng: np.random.Generator) -> Interval:
    """Repeat the intervals of the last variable's shares given the first."""
    first, *_, last = plan.domain.names
    low, high = (
        pooled_marginals(plan, law, records, rng).marginal([first, last]).ratio_interval([last])
    )
    joint = law.sum(axis=tuple(range(1, law.ndim - 1)))
    truth = joint / joint.sum(axis=-1, keepdims=True)
    return Interval(truth.ravel(), low.ravel(), high.ravel())


def tested_level(plan: Plan, law: Numbers, records: int, rng: np.random.Generator) -> Interval:
    """Repeat a test of an independence that holds: an interval from the level up."""
    first, second, *given = plan.domain.names
    evidence = pooled_marginals(plan, law, records, rng).independence([first], [second], given)
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
    codes = (rng.random(records)[:, None] > np.cumsum(law, axis=1)[cell]).sum(axis=1)
    columns = np.full((count, records), size, dtype=np.uint8)
    columns[chosen[:, 0], rows], columns[chosen[:, 1], rows] = codes // size, codes % size
    reports = ReportedCounts(dict(zip(domain.names, columns, strict=True)), plan.reported_sizes)
    marginals = EstimatedMarginals(reports, plan, estimator="pooled")
    found = []
    for left, right in ((0, 1), (0, 2), (0, count - 1), (5, 6), (7, 11)):
        table = marginals.marginal([domain.names[left], domain.names[right]])
        tied = stays ** (right - left)
        true = tied * np.eye(size) / size + (1 - tied) / size**2
        found.append((records * true, *table.interval(population=True)))
    return Interval(*(np.concatenate([np.ravel(p) for p in x]) for x in zip(*found, strict=True)))


_POOLED_MIXED, _MANY = domain_of(3, 2, 4), domain_of(8, 6)

POOLED: tuple[Setting, ...] = (
    Setting(
        "cells of pairs, pooled",
        "3 x 2 x 4, pairs sampled at gamma 9, N = 300",
        1400,
        lambda rng: pairs(
            sampled_pairs(_POOLED_MIXED, 9.0), interacting(_POOLED_MIXED, 0.4), 300, rng
        ),
    ),
    Setting(
        "cells of pairs, pooled",
        "3 x 2 x 4, pairs sampled at gamma 19, N = 2,000",
        1401,
        lambda rng: pairs(
            sampled_pairs(_POOLED_MIXED, 19.0), interacting(_POOLED_MIXED, 0.4), 2000, rng
        ),
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
        lambda rng: cells(
            sampled_pairs(_POOLED_MIXED, 9.0), interacting(_POOLED_MIXED, 0.4), 1000, rng
        ),
    ),
    Setting(
        "cells of three told together, pooled to order 3",
        "3 x 2 x 4 with interactions of three, pairs and triples sampled at gamma 19, N = 2,000",
        1404,
        lambda rng: cells(
            triples(_POOLED_MIXED, 19.0), interacting(_POOLED_MIXED, 0.4, 3), 2000, rng, order=3
        ),
    ),
    Setting(
        "shares given another variable, pooled",
        "3 x 2 x 4, pairs sampled at gamma 19, N = 2,000",
        1405,
        lambda rng: shares(
            sampled_pairs(_POOLED_MIXED, 19.0), interacting(_POOLED_MIXED, 0.4), 2000, rng
        ),
    ),
    Setting(
        "p-value of independence at least .05, pooled",
        "3 x 2 given 4 categories, pairs sampled at gamma 9, N = 2,000, independent",
        1406,
        lambda rng: tested_level(
            sampled_pairs(_POOLED_MIXED, 9.0), apart_given_last(_POOLED_MIXED), 2000, rng
        ),
    ),
    Setting(
        "cells of a pair of many categories, pooled",
        "8 x 6, sampled at gamma 19, N = 3,000",
        1407,
        lambda rng: pairs(sampled_pairs(_MANY, 19.0), interacting(_MANY, 0.4), 3000, rng),
        short=60,
    ),
)
