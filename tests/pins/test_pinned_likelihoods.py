"""Pinned: the results of maximizing a likelihood, free and under a model.

A log-likelihood is held to 1e-8 of itself, an estimate to a millionth of the records. What is close
to flat is therefore asked of an iteration that is told to go on until little is left to gain; what
callers get with their own tolerances is pinned beside it, as widely as those allow.
"""

from __future__ import annotations

import numpy as np
import pytest

from pramana_core.channels import (
    CutAndPaste,
    Dense,
    Grouped,
    Identity,
    Mixture,
    OneHot,
    Symmetric,
    Transition,
    Withheld,
)
from pramana_core.domain import Domain
from pramana_core.estimation.axes import Stratum
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.estimation.likelihood import FactoredModel, climb, maximize, saturated
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Block, Plan

WIDE = Dense.from_probabilities([[0.6, 0.3, 0.1], [0.1, 0.2, 0.7]])
NARROW = Dense.from_probabilities([[0.8, 0.2], [0.5, 0.5], [0.1, 0.9]])

CASES: dict[str, tuple[list[tuple[Transition, ...]], int]] = {
    "light": ([(Symmetric.from_probability(4, 0.1),)], 2000),
    "heavy": ([(Symmetric.from_probability(4, 0.7),)], 2000),
    "very heavy": ([(Symmetric.from_probability(5, 0.78),)], 500),
    "binary": ([(Dense.binary(0.1, 0.25), Dense.binary(0.3, 0.2))], 800),
    "three axes": (
        [(Dense.binary(0.1, 0.25), Symmetric.from_probability(3, 0.4), Identity(2))],
        1500,
    ),
    "three heavy axes": (
        [(Symmetric.from_probability(3, 0.6),) * 3],
        1000,
    ),
    "few records": ([(Symmetric.from_probability(6, 0.5),) * 2], 40),
    "wide": ([(WIDE, Symmetric.from_probability(3, 0.3))], 900),
    "narrow": ([(Symmetric.from_probability(2, 0.2), NARROW)], 900),
    "mixture": ([(Mixture.from_gamma(12, 9.0), Dense.ternary(0.1, 0.2))], 1200),
    "one-hot": ([(OneHot.from_gamma(3, 19.0), Dense.binary(0.2, 0.2))], 1000),
    "cut-and-paste": ([(CutAndPaste.from_gamma((2, 3), 1, 19.0),)], 1000),
    "grouped": ([(Grouped.from_probability([[0, 2], [1, 3]], 0.4), WIDE)], 700),
    "withheld": ([(Symmetric.from_probability(3, 0.3), Withheld(2))], 300),
    "two strata": (
        [
            (Symmetric.from_probability(3, 0.2), Dense.binary(0.1, 0.2)),
            (Symmetric.from_probability(3, 0.6), Dense.binary(0.4, 0.3)),
        ],
        700,
    ),
}


def drawn(channels: tuple[Transition, ...], records: int, seed: int) -> Stratum:
    """Reports of records whose distribution leaves some cells empty."""
    shape = tuple(c.shape[0] for c in channels)
    reported = tuple(c.shape[1] for c in channels)
    true = np.random.default_rng(77).dirichlet(np.full(int(np.prod(shape)), 0.4)).reshape(shape)
    empty = Stratum(np.zeros(reported), channels)
    seen = empty.expected(true[..., None]).ravel()
    counts = np.random.default_rng(seed).multinomial(records, seen / seen.sum())
    return Stratum(counts.reshape(reported).astype(float), channels)


def unique(strata: list[Stratum]) -> bool:
    """Whether one table alone is the most likely: no direction leaves all reports as they are."""
    return all(
        c.shape[0] <= c.shape[1] and np.linalg.matrix_rank(c.matrix()) == c.shape[0]
        for stratum in strata
        for c in stratum.channels
    )


@pytest.mark.parametrize("name", CASES)
def test_maximum_likelihood(pin, name: str):
    layouts, records = CASES[name]
    strata = [drawn(channels, records, 5 + k) for k, channels in enumerate(layouts)]
    found = maximize(strata, tolerance=1e-9)
    assert found.gap <= 1e-9
    pin(f"likelihood: {name}", found.log_likelihood[0], rel=1e-8)
    if unique(strata):
        pin(f"estimate: {name}", found.table, absolute=1e-6)
    usual = maximize(strata)
    assert usual.gap <= 1e-4
    pin(f"usual likelihood: {name}", usual.log_likelihood[0], absolute=2e-4)


SHAPE = (2, 3, 2)
BINARY, TERNARY = Dense.binary(0.1, 0.25), Symmetric.from_probability(3, 0.3)
SWAPS = Grouped(
    ((0, 3), (1, 2), (4,), (5,)), (Dense.binary(0.3, 0.1), Dense.binary(0.2, 0.4), None, None)
)
LAYOUTS: dict[str, tuple[tuple[tuple[int, ...], Transition], ...]] = {
    "each alone": (((0,), BINARY), ((1,), TERNARY), ((2,), Identity(2))),
    "another order": (((2,), WIDE), ((0,), BINARY), ((1,), TERNARY)),
    "jointly": (((0, 1), SWAPS), ((2,), WIDE)),
    "jointly apart": (((1,), TERNARY), ((2, 0), Symmetric.from_gamma(4, 7.0))),
    "one absent": (((2,), BINARY), ((0,), WIDE)),
    "one withheld": (((0,), BINARY), ((1,), Withheld(3)), ((2,), WIDE)),
}
TOGETHER = {
    **{name: (name,) for name in ("each alone", "another order", "jointly", "jointly apart")},
    "two": ("each alone", "jointly"),
    "three": ("another order", "one absent", "one withheld"),
}


def stratum_of(name: str, seed: int) -> Stratum:
    parts = LAYOUTS[name]
    channels = tuple(channel for _, channel in parts)
    sizes = [channel.shape[1] for channel in channels]
    reported = np.random.default_rng(seed).integers(20, 300, sizes).astype(float)
    return Stratum(reported, channels, tuple(group for group, _ in parts), SHAPE)


INDEPENDENT = FactoredModel(SHAPE, (((1,), ()), ((0,), (1,)), ((2,), (1,))))
"""The first axis is independent of the last, given the middle."""


@pytest.mark.parametrize("name", TOGETHER)
@pytest.mark.parametrize("model", [None, INDEPENDENT], ids=["free", "independent"])
def test_maximize(pin, name: str, model):
    strata = [stratum_of(layout, 3 + k) for k, layout in enumerate(TOGETHER[name])]
    found = maximize(strata, model, tolerance=1e-10)
    kind = "free" if model is None else "independent"
    pin(f"{kind}: {name}", found.log_likelihood, rel=1e-8)
    pin(f"{kind} estimate: {name}", found.table, absolute=1e-6)
    pin(f"saturated: {name}", saturated(strata), rel=1e-10)


@pytest.mark.parametrize("model", [FactoredModel(SHAPE), INDEPENDENT], ids=["free", "independent"])
def test_maximize_many_at_once(pin, model):
    """Several sets of reports, as the bootstrap has them."""
    stratum = stratum_of("each alone", 3)
    counts = stratum.column[:, 0]
    sets = np.random.default_rng(8).multinomial(int(counts.sum()), counts / counts.sum(), size=6).T
    begin = np.full(SHAPE, 1 / 12)
    reports = [sets.astype(float)]
    found = climb([stratum], model, begin, reports=reports, tolerance=1e-10, steps=30_000)
    kind = "independent" if model.factors else "free"
    pin(f"{kind}, many", found.log_likelihood, rel=1e-8)
    pin(f"{kind} estimates, many", found.probabilities, absolute=1e-6)


# --- as callers ask for them ---------------------------------------------------------------------

DOMAIN = Domain.of(a="01", b="012", c="01")
CHAIN = {"a": [], "b": ["a"], "c": ["b"]}
COLLIDER = {"a": [], "c": [], "b": ["a", "c"]}


def source(seed: int, p: float, *, joint: bool = False, only: str = "abc"):
    """Records of the chain a -> b -> c, reported with noise; b and c in one block if `joint`."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 2, 3000)
    b = np.where(rng.random(3000) < 0.7, a, rng.integers(0, 3, 3000))
    c = np.where(rng.random(3000) < 0.8, b > 0, rng.integers(0, 2, 3000)).astype(int)
    channels = {
        "a": Symmetric.from_probability(2, p),
        "b": Symmetric.from_probability(3, p),
        "c": Dense.binary(p, p / 2),
    }
    blocks = [Block((v,), channels[v.name]) for v in DOMAIN if v.name in only]
    if joint:
        matrix = np.kron(channels["b"].matrix(), channels["c"].matrix())
        whole = Block((DOMAIN["b"], DOMAIN["c"]), Dense.from_probabilities(matrix.tolist()))
        blocks = [blocks[0], whole]
    plan = Plan(tuple(blocks))
    columns = {}
    for name, true in (("a", a), ("b", b), ("c", c)):
        rows = np.cumsum(channels[name].matrix(), axis=1)[true]
        codes = (rng.random(3000)[:, None] >= rows[:, :-1]).sum(1).astype(np.uint8)
        if name in only:
            columns[name] = codes
    return ReportedCounts(columns, plan.reported_sizes), plan


SOURCES = {
    "light": [(1, 0.1, {})],
    "heavy": [(1, 0.4, {})],
    "joint": [(3, 0.3, {"joint": True})],
    "strata": [(2, 0.2, {}), (3, 0.3, {"joint": True})],
    "strata, some missing": [(2, 0.2, {}), (4, 0.1, {"only": "ab"}), (5, 0.1, {"only": "bc"})],
}


def marginals_of(name: str, estimator: str):
    sources = [source(seed, p, **more) for seed, p, more in SOURCES[name]]
    if len(sources) == 1:
        return EstimatedMarginals(*sources[0], estimator=estimator)
    return EstimatedMarginals.of(sources, estimator=estimator)


@pytest.mark.parametrize("name", SOURCES)
def test_independence_and_explanation(pin, name: str):
    """At the callers' tolerance, 1e-5 nats a step, which may leave a hundredth of a nat."""
    marginals = marginals_of(name, "ml")
    for left, given, right in (("a", "b", "c"), ("a", "", "b"), ("b", "a", "c")):
        test = marginals.independence([left], [right], list(given))
        pin(
            f"independence: {name}: {left}-{right}|{given}",
            {
                "degrees": test.degrees_of_freedom,
                "free": test.alternative_log_likelihood,
                "least": test.null_log_likelihood,
                "saturated": test.saturated,
                "upper": test.upper,
                "ratio": test.ratio,
            },
            absolute=0.01,
        )
        pin(f"inflation: {name}: {left}-{right}|{given}", test.inflation, rel=0.05)
    for structure, parents in (("chain", CHAIN), ("collider", COLLIDER)):
        explained = marginals.explanation(parents)
        assert explained is not None
        pin(
            f"explanation: {name}: {structure}",
            {"parameters": explained.parameters, "value": explained.log_likelihood},
            absolute=0.01,
        )


BY_MOMENTS = [name for name in SOURCES if name != "strata, some missing"]
"""By moments every stratum must report every variable."""


@pytest.mark.parametrize(
    ("estimator", "name"),
    [*(("moment", name) for name in BY_MOMENTS), *(("ml", name) for name in SOURCES)],
)
def test_estimates(pin, estimator: str, name: str):
    """Tables and their errors; by likelihood as near as an iteration comes that stops early."""
    marginals = marginals_of(name, estimator)
    share = 1e-9 if estimator == "moment" else 1e-4
    for variables in ("a", "ab", "abc"):
        table = marginals.marginal(list(variables))
        found = {
            "records": table.records,
            "counts": table.counts,
            "variance": table.variance(population=True),
        }
        pin(
            f"{estimator}: {name}: {variables}",
            found,
            rel=1e-9 if estimator == "moment" else 1e-3,
            absolute=share * marginals.records,
        )
