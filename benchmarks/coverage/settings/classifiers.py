"""Weights of linear classifiers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial

import numpy as np

from benchmarks.coverage.setting import (
    Interval,
    Numbers,
    Setting,
    estimated,
    records_of,
    reports_of,
)
from benchmarks.coverage.settings.log_linear import sampled_pairs
from pramana_core.channels import Identity, Symmetric
from pramana_core.domain import Domain, Variable
from pramana_core.errors import PramanaError
from pramana_core.estimation.estimated import EstimatedMarginals, Estimator
from pramana_core.learn.linear.fitting import learn_linear
from pramana_core.learn.linear.model import LinearClassifier
from pramana_core.learn.linear.options import LinearOptions, Loss
from pramana_core.marginals.counts import Marginals
from pramana_core.plan import Block, Plan

Sizes = tuple[int, ...]

CLASS = "class"


@cache
def law(sizes: Sizes) -> tuple[Domain, Numbers]:
    """Return a law of features of these sizes and a class of two that no plane predicts well.

    Features of four categories have numbers, 0 to 3 squared; the others become indicators.
    """
    names = [f"x{place + 1}" for place in range(len(sizes))]
    variables = [
        Variable(name, tuple(map(str, range(size))), (0.0, 1.0, 4.0, 9.0) if size == 4 else None)
        for name, size in zip(names, sizes, strict=True)
    ]
    domain = Domain((*variables, Variable(CLASS, ("no", "yes"))))
    features = np.random.default_rng(1340).dirichlet(np.full(np.prod(sizes), 4.0)).reshape(sizes)
    score = np.full(sizes, -0.2)
    for axis, size in enumerate(sizes):
        told = np.linspace(-0.7, 0.7, size) if size == 4 else np.array([0.0, 0.9, -0.4])[:size]
        shape = [size if at == axis else 1 for at in range(len(sizes))]
        score = score + (told if axis % 2 == 0 else -0.8 * told).reshape(shape)
    score.flat[3] += 1.0
    yes = 1 / (1 + np.exp(-score))
    return domain, np.stack([features * (1 - yes), features * yes], axis=-1)


class _Law:
    """A law as the counts of a million records, for the weights of the population."""

    records = 1_000_000

    def __init__(self, domain: Domain, shares: Numbers):
        self._domain, self._counts = domain, self.records * shares

    def table(self, names: Sequence[str]) -> Numbers:
        """Return counts over some variables."""
        axes = [self._domain.axis(name) for name in names]
        gone = tuple(axis for axis in range(self._counts.ndim) if axis not in axes)
        return np.transpose(self._counts.sum(axis=gone), np.argsort(np.argsort(axes)))


def plan(domain: Domain, p: float, of_class: float) -> Plan:
    """Return the plan that changes each feature with probability p, and the class."""
    return Plan(
        tuple(
            Block((v,), Symmetric.from_probability(v.size, q) if q else Identity(v.size))
            for v in domain
            for q in [of_class if v.name == CLASS else p]
        )
    )


def _learned(marginals: Marginals, loss: Loss) -> LinearClassifier:
    return learn_linear(marginals, CLASS, options=LinearOptions(loss))


@cache
def truth(sizes: Sizes, loss: Loss) -> Numbers:
    """Return the weights of the population."""
    domain, shares = law(sizes)
    whole = EstimatedMarginals(_Law(domain, shares), Plan.unrandomized(domain))
    return _learned(whole, loss).planes[0].vector


def drawn(
    sizes: Sizes,
    levels: Sequence[tuple[int, float, float]],
    estimator: Estimator,
    rng: np.random.Generator,
) -> EstimatedMarginals:
    """Return marginals of sources drawn anew; a level is records, p, and p of the class."""
    domain, shares = law(sizes)
    sources = []
    for records, p, of_class in levels:
        used = plan(domain, p, of_class)
        sources.append((reports_of(used, records_of(used, shares, records, rng), rng), used))
    return EstimatedMarginals.of(sources, estimator=estimator)


def weights(
    sizes: Sizes,
    levels: Sequence[tuple[int, float, float]],
    loss: Loss,
    estimator: Estimator,
    rng: np.random.Generator,
) -> Interval:
    """Learn from reports drawn anew, and return the weights' intervals; NaN where none is told."""
    wanted = truth(sizes, loss)
    none = np.full(len(wanted), np.nan)
    try:
        model = _learned(drawn(sizes, levels, estimator, rng), loss)
    except PramanaError:
        return Interval(wanted, none, none)
    return _intervals(wanted, model)


def _intervals(wanted: Numbers, model: LinearClassifier) -> Interval:
    ends = [weight.interval or (np.nan, np.nan) for weight in model.planes[0].weights]
    low, high = np.array(ends).T
    return Interval(wanted, low, high)


def _setting(
    seed: int,
    sizes: Sizes,
    *levels: tuple[int, float, float],
    loss: Loss = "logistic",
    estimator: Estimator = "moment",
    why: str = "",
    short: int = 100,
) -> Setting:
    said = "; ".join(
        f"{records:,} records, p = {p:g}, of the class {of_class:g}"
        for records, p, of_class in levels
    )
    means = ", by likelihood" if estimator == "ml" else ""
    return Setting(
        f"weights, {loss}{means}",
        f"{said}; features of {', '.join(map(str, sizes))} categories",
        seed,
        partial(weights, sizes, levels, loss, estimator),
        below=1.0 if why else 0.97,
        why=why,
        short=short,
    )


def pair_weights(sizes: Sizes, records: int, gamma: float, rng: np.random.Generator) -> Interval:
    """Repeat the intervals of least squares where each record reports one pair of variables."""
    domain, shares = law(sizes)
    marginals = estimated(sampled_pairs(domain, gamma), shares, records, rng, estimator="pooled")
    return _intervals(truth(sizes, "least-squares"), _learned(marginals, "least-squares"))


def _pairs(seed: int, sizes: Sizes, records: int, gamma: float) -> Setting:
    return Setting(
        "weights, least-squares from pairs",
        f"pairs sampled at gamma {gamma:g}, N = {records:,}; features of"
        f" {', '.join(map(str, sizes))} categories",
        seed,
        partial(pair_weights, sizes, records, gamma),
        below=1.0,
        why=_SHRUNK,
        short=60,
    )


_SHRUNK = "Errors have what shrinkage moved the tables by, too."

_ENDLESS = (
    "Where the noise hides how the columns vary, intervals have no end on one side, and where the"
    " equation has no solution none is printed."
)

SETTINGS: tuple[Setting, ...] = (
    _setting(1340, (3, 2, 4), (1_000, 0.1, 0.0)),
    _setting(1341, (3, 2, 4), (1_000, 0.2, 0.2)),
    _setting(1342, (3, 2, 4), (20_000, 0.4, 0.4)),
    _setting(1343, (3, 2, 4), (5_000, 0.4, 0.0)),
    _setting(1344, (3, 2, 4), (20_000, 0.4, 0.0), estimator="ml"),
    _setting(1345, (3, 2, 4), (20_000, 0.4, 0.0), loss="least-squares"),
    _setting(1346, (2, 2, 2), (20_000, 0.4, 0.0), why=_ENDLESS),
    _setting(1347, (2, 2, 2), (5_000, 0.4, 0.0), why=_ENDLESS),
    _setting(1348, (2, 2, 4, 3, 2), (5_000, 0.3, 0.0)),
    _setting(1349, (3, 2, 4), (2_000, 0.4, 0.2), (3_000, 0.2, 0.1)),
    _pairs(1420, (3, 2, 4), 100_000, 19.0),
    _pairs(1421, (2, 2, 4, 3, 2), 50_000, 19.0),
)
