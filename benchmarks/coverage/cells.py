"""Cells of tables, by moments and by maximum likelihood."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.coverage.setting import Interval, Numbers, Setting, records_of, reports_of
from pramana_core.channels import Choice, Grouped, Sampled, Symmetric
from pramana_core.domain import Domain
from pramana_core.estimation.estimated import EstimatedMarginals, Estimator
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Block, Plan

_DOMAIN = Domain.of(a="xyz", b="1234", c="pq")
_A, _B, _C = _DOMAIN
_NAMES = tuple(
    f"a={a} b={b} c={c}" for a in _A.categories for b in _B.categories for c in _C.categories
)

LAW: Numbers = np.random.default_rng(3).dirichlet(np.full(24, 0.7)).reshape(3, 4, 2)
"""Of 24 cells, a third rarer than one in a hundred."""

_HALF = 1 << 31


def independent(p: float) -> Plan:
    """Return the plan that replaces each variable by itself, with probability p."""
    return Plan(tuple(Block((v,), Symmetric.from_probability(v.size, p)) for v in _DOMAIN))


JOINT = Plan(
    (
        Block((_A, _B), Symmetric.from_gamma(12, 9.0)),
        Block((_C,), Symmetric.from_probability(2, 0.2)),
    )
)
GROUPED = Plan(
    (
        Block(
            (_A, _B),
            Grouped.from_probability(((0, 1, 2, 3), (4, 5, 6), (7, 8, 9, 10, 11)), 0.3),
        ),
        Block((_C,), Symmetric.from_probability(2, 0.4)),
    )
)
SAMPLED = Plan(
    (
        Block(
            (_A, _B, _C),
            Sampled(
                (3, 4, 2),
                (
                    Choice((0, 1, 2), _HALF, Symmetric.from_gamma(24, 19.0)),
                    Choice((0, 1), _HALF // 2, Symmetric.from_gamma(12, 19.0)),
                    Choice((1, 2), _HALF // 2, Symmetric.from_gamma(8, 19.0)),
                ),
            ),
        ),
    )
)


def _cells(
    sources: Sequence[tuple[Plan, int]],
    *,
    estimator: Estimator = "moment",
    population: bool = True,
) -> Callable[[np.random.Generator], Interval]:
    """Return what draws, randomizes and estimates once: intervals of all 24 cells."""

    def repeat(rng: np.random.Generator) -> Interval:
        reported, truth = [], np.zeros(_DOMAIN.shape)
        for plan, records in sources:
            true = records_of(plan, LAW, records, rng)
            if population:
                truth += records * LAW
            else:
                truth += ReportedCounts(
                    true, dict(zip(_DOMAIN.names, (3, 4, 2), strict=True))
                ).table(_DOMAIN.names)
            reported.append((reports_of(plan, true, rng), plan))
        marginals = EstimatedMarginals.of(reported, estimator=estimator)
        low, high = marginals.marginal(_DOMAIN.names).interval(population=population)
        return Interval(truth.ravel(), low.ravel(), high.ravel())

    return repeat


_AT_THE_EDGE = (
    "where estimates are zero, likelihood's error is that of the unrestricted estimate, which is"
    " larger than its own"
)


def _setting(name: str, where: str, seed: int, repeat: Callable[..., Interval]) -> Setting:
    likely = "likelihood" in name
    return Setting(
        name,
        where,
        seed,
        repeat,
        names=_NAMES,
        below=1.0 if likely else 0.97,
        why=_AT_THE_EDGE if likely else "",
    )


SETTINGS: tuple[Setting, ...] = (
    _setting(
        "cells by moments",
        "N = 200, three variables, p = .2",
        1310,
        _cells([(independent(0.2), 200)]),
    ),
    _setting(
        "cells by moments",
        "N = 1,000, three variables, p = .4",
        1311,
        _cells([(independent(0.4), 1_000)]),
    ),
    _setting(
        "cells by moments",
        "N = 200, a joint block of gamma 9 and a variable, p = .2",
        1312,
        _cells([(JOINT, 200)]),
    ),
    _setting(
        "cells by moments",
        "N = 200, a grouped block of p = .3 and a variable, p = .4",
        1313,
        _cells([(GROUPED, 200)]),
    ),
    _setting(
        "cells by moments",
        "N = 200, three variables or two of them sampled, gamma 19",
        1314,
        _cells([(SAMPLED, 200)]),
    ),
    _setting(
        "cells by moments",
        "N = 100 of p = .1 and 100 of p = .4, three variables",
        1315,
        _cells([(independent(0.1), 100), (independent(0.4), 100)]),
    ),
    _setting(
        "cells by moments, given the records",
        "N = 200, a joint block of gamma 9 and a variable, p = .2",
        1316,
        _cells([(JOINT, 200)], population=False),
    ),
    _setting(
        "cells by likelihood",
        "N = 200, three variables or two of them sampled, gamma 19",
        1318,
        _cells([(SAMPLED, 200)], estimator="ml"),
    ),
    _setting(
        "cells by likelihood",
        "N = 1,000, a joint block of gamma 9 and a variable, p = .2",
        1319,
        _cells([(JOINT, 1_000)], estimator="ml"),
    ),
)
