"""Coverage for cells of tables, independence, parameters of networks, and masked records."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy import stats

from benchmarks.coverage.setting import (
    Interval,
    Numbers,
    Setting,
    apart_given_last,
    columns,
    domain_of,
    estimated,
    interacting,
    parity,
    records_of,
    reports_of,
    sampled,
    sampled_pairs,
)
from pramana_core.channels import Symmetric
from pramana_core.domain import Domain
from pramana_core.estimation.estimated import EstimatedMarginals, Estimator
from pramana_core.learn.networks.bayes_net import learn_parameters
from pramana_core.learn.networks.structure import Structure
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.marginals.score_interval import normal_quantile
from pramana_core.mask.catalogue import METHODS
from pramana_core.mask.core.masked import Method
from pramana_core.plan import Block, Plan

Repeat = Callable[[np.random.Generator], Interval]

_DOMAIN = Domain.of(a="xyz", b="1234", c="pq")
_A, _B, _C = _DOMAIN
_LAW: Numbers = np.random.default_rng(3).dirichlet(np.full(24, 0.7)).reshape(3, 4, 2)
"""A law of 24 cells, a third of them rarer than one in a hundred."""

_JOINT = Plan(
    (
        Block((_A, _B), Symmetric.from_gamma(12, 9.0)),
        Block((_C,), Symmetric.from_probability(2, 0.2)),
    )
)
_LEVEL = 0.05


def tables(
    sources: Sequence[tuple[Plan, int]],
    law: Numbers,
    lengths: Sequence[int],
    *,
    population: bool = True,
    errors: bool = False,
    **how: Any,
) -> Repeat:
    """Return a repetition that draws, randomizes and estimates the cells of some tables."""
    domain = sources[0][0].domain
    names = domain.names
    sets = [names[:k] for k in lengths] or list(itertools.combinations(names, 2))

    def repeat(rng: np.random.Generator) -> Interval:
        reported, true = [], np.zeros(law.shape)
        for plan, records in sources:
            drawn = records_of(plan, law, records, rng)
            counted = ReportedCounts(drawn, dict(zip(names, law.shape, strict=True)))
            true += records * law if population else counted.table(names)
            reported.append((reports_of(plan, drawn, rng), plan))
        marginals = EstimatedMarginals.of(reported, **how)
        found = []
        for chosen in sets:
            gone = tuple(i for i, name in enumerate(names) if name not in chosen)
            table = marginals.marginal(chosen)
            if errors:
                table = table.unshrunk
                half = normal_quantile(0.95) * table.standard_error(population=population)
                low, high = table.counts - half, table.counts + half
            else:
                low, high = table.interval(population=population)
            found.append((true.sum(axis=gone), low, high))
        return Interval(*(np.concatenate([p.ravel() for p in x]) for x in zip(*found, strict=True)))

    return repeat


def independence(plan: Plan, law: Numbers, records: int) -> Repeat:
    """Return a repetition that tests a true independence and succeeds if it is not rejected."""
    first, second, *given = plan.domain.names

    def repeat(rng: np.random.Generator) -> Interval:
        marginals = estimated(plan, law, records, rng, estimator="pooled", order=2)
        evidence = marginals.independence([first], [second], given)
        p_value = stats.chi2(evidence.degrees_of_freedom).sf(2 * evidence.ratio)
        return Interval(p_value, _LEVEL, 1.0)

    return repeat


def parameters(
    plan: Plan, records: int, parents: dict[str, list[str]], estimator: Estimator
) -> Repeat:
    """Return a repetition that learns the parameters of a network of a, b and c."""
    structure = Structure.of(parents)
    truth = np.concatenate([_conditional(node, given) for node, given in structure.families])

    def repeat(rng: np.random.Generator) -> Interval:
        marginals = estimated(plan, _LAW, records, rng, estimator=estimator)
        families = learn_parameters(marginals, structure).families
        low = np.concatenate([family.low.ravel() for family in families])
        high = np.concatenate([family.high.ravel() for family in families])
        return Interval(truth, low, high)

    return repeat


def _conditional(node: str, parents: tuple[str, ...]) -> Numbers:
    wanted = [*parents, node]
    kept = [name for name in _DOMAIN.names if name in wanted]
    gone = tuple(i for i, name in enumerate(_DOMAIN.names) if name not in wanted)
    table = np.transpose(_LAW.sum(axis=gone), [kept.index(name) for name in wanted])
    return np.asarray(table / table.sum(axis=-1, keepdims=True)).ravel()


_MIXED, _BITS = domain_of(3, 2, 4), domain_of(2, 2, 2, 2)
_PAIRS_LAW = interacting(_MIXED, 0.4)
_TRIPLES = list(itertools.combinations(range(4), 3))
_OF_JOINT = "a joint block of gamma 9 and a variable, p = .2"
_TREE = {"a": [], "b": ["a"], "c": ["a"]}

SETTINGS: tuple[Setting, ...] = (
    Setting(
        "cells by moments",
        f"N = 200, {_OF_JOINT}",
        1312,
        tables([(_JOINT, 200)], _LAW, [3]),
    ),
    Setting(
        "cells by moments, given the records",
        f"N = 200, {_OF_JOINT}",
        1316,
        tables([(_JOINT, 200)], _LAW, [3], population=False),
    ),
    Setting(
        "cells by likelihood",
        f"N = 1,000, {_OF_JOINT}",
        1319,
        tables([(_JOINT, 1_000)], _LAW, [3], estimator="ml"),
        below=1.0,
        why="where estimates are zero, likelihood's error is that of the unrestricted estimate,"
        " which is larger than its own",
    ),
    Setting(
        "counts of pairs, 1.96 standard errors about them, two owners",
        "3 x 2 x 4, 400 records at p = .1 and 400 at p = .4",
        1451,
        tables(
            [(columns(_MIXED, 0.1), 400), (columns(_MIXED, 0.4), 400)], _PAIRS_LAW, [], errors=True
        ),
        worst=0.9,
    ),
    Setting(
        "cells of pairs, pooled",
        "3 x 2 x 4, pairs sampled at gamma 19, N = 2,000",
        1401,
        tables([(sampled_pairs(_MIXED, 19.0), 2000)], _PAIRS_LAW, [], estimator="pooled", order=2),
    ),
    Setting(
        "p-value of independence at least .05, pooled",
        "3 x 2 given 4 categories, pairs sampled at gamma 9, N = 2,000, independent",
        1406,
        independence(sampled_pairs(_MIXED, 9.0), apart_given_last(_MIXED), 2000),
    ),
    Setting(
        "cells of a parity of three, pooled",
        "2 x 2 x 2 x 2, triples sampled at gamma 100, N = 20,000",
        1410,
        tables([(sampled(_BITS, _TRIPLES, 100.0), 20_000)], parity(_BITS), [3], estimator="pooled"),
        # One of the four rare cells, with 250 records each, has lower coverage.
        worst=0.9,
    ),
    Setting(
        "network parameters by moments",
        f"N = 200, {_OF_JOINT}",
        1350,
        parameters(_JOINT, 200, _TREE, "moment"),
    ),
    Setting(
        "network parameters, pooled",
        "N = 2,000, three variables, pairs sampled at gamma 19",
        1432,
        parameters(sampled_pairs(_DOMAIN, 19.0), 2_000, _TREE, "pooled"),
    ),
)


_SLOPES = np.array([[0.8, -0.3], [0.0, 0.5]])
"""Slopes of the two columns of X on the two columns of S: a row for each column of S."""

_NOISE = np.array([[1.0, 0.6], [0.6, 1.5]])
"""The covariance of X given S."""

_MEANS = np.array([10.0, -2.0])
_BEND = np.array([-1.0, 0.5])
"""The coefficient of the square in the bent law; S is then one uniform column from -2 to 2."""


def _fit(y: Numbers, *columns: Numbers) -> tuple[Numbers, Numbers]:
    design = np.column_stack([np.ones(len(y)), *columns])
    inverse = np.linalg.inv(design.T @ design)
    slopes = inverse @ design.T @ y
    rest = y - design @ slopes
    return slopes, np.diag(inverse) * (rest @ rest) / (len(y) - design.shape[1])


def _mean(y: Numbers) -> tuple[Numbers, Numbers]:
    return _fit(y)


def _linear_truth() -> Numbers:
    joint = np.block([[np.eye(2), _SLOPES], [_SLOPES.T, _SLOPES.T @ _SLOPES + _NOISE]])
    s_on_y = np.linalg.solve(joint[2:, 2:], joint[2:, 0])
    return np.array(
        [_MEANS[0], *_SLOPES[:, 0], *s_on_y, joint[2, 3] / joint[2, 2], _NOISE[0, 1] / _NOISE[0, 0]]
    )


def _linear_analyses(s: Numbers, y: Numbers) -> list[tuple[Numbers, Numbers]]:
    y1, y2, s1, s2 = y[:, 0], y[:, 1], s[:, 0], s[:, 1]
    wanted = (
        (_mean(y1), [0]),
        (_fit(y1, s1, s2), [1, 2]),
        (_fit(s1, y1, y2), [1, 2]),
        (_fit(y2, y1), [1]),
        (_fit(y2, y1, s1, s2), [1]),
    )
    return [(found[0][places], found[1][places]) for found, places in wanted]


def _bent_analyses(s: Numbers, y: Numbers) -> list[tuple[Numbers, Numbers]]:
    curve = (s[:, 0], s[:, 0] ** 2)
    first, second = (_fit(y[:, k], *curve) for k in (0, 1))
    slope = _fit(y[:, 1], y[:, 0], *curve)
    return [
        _mean(y[:, 0]),
        (first[0][1:], first[1][1:]),
        (second[0][1:], second[1][1:]),
        (slope[0][1:2], slope[1][1:2]),
    ]


def _draw_linear(rng: np.random.Generator, n: int) -> tuple[Numbers, Numbers]:
    s = rng.standard_normal((n, 2))
    return s, _MEANS + s @ _SLOPES + rng.multivariate_normal([0, 0], _NOISE, n)


def _draw_bent(rng: np.random.Generator, n: int) -> tuple[Numbers, Numbers]:
    s = rng.uniform(-2, 2, (n, 1))
    curve = _MEANS + s * _SLOPES[0] + s**2 * _BEND
    return s, curve + rng.multivariate_normal([0, 0], _NOISE, n)


_BENT_TRUTH = np.array(
    [
        _MEANS[0] + _BEND[0] * 4 / 3,
        _SLOPES[0, 0],
        _BEND[0],
        _SLOPES[0, 1],
        _BEND[1],
        _NOISE[0, 1] / _NOISE[0, 0],
    ]
)

_LAWS = {
    "linear": (_draw_linear, _linear_analyses, _linear_truth()),
    "bent": (_draw_bent, _bent_analyses, _BENT_TRUTH),
}


def masked_intervals(rng: np.random.Generator, method: Method, law: str, n: int) -> Interval:
    """Draw a table, mask it, and analyse the masked records as if they were true ones."""
    draw, analyses, truth = _LAWS[law]
    s, x = draw(rng, n)
    low, high = [], []
    for estimates, variances in analyses(s, method(s, x, rng).matrix):
        half = stats.t.isf(0.025, n - len(estimates)) * np.sqrt(variances)
        low.append(estimates - half)
        high.append(estimates + half)
    return Interval(truth, np.concatenate(low), np.concatenate(high))


MASKED: tuple[Setting, ...] = (
    Setting(
        "regressions from masked records, EGADP",
        "N = 200, X linear in S, normal",
        1600,
        partial(masked_intervals, method=METHODS["egadp"], law="linear", n=200),
        short=200,
    ),
    Setting(
        "regressions from masked records, NMEGADP",
        "N = 200, X a square of S with normal residuals",
        1603,
        partial(masked_intervals, method=METHODS["nmegadp"], law="bent", n=200),
        short=40,
    ),
)
