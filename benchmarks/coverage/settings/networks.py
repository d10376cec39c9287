"""Conditional probabilities of networks, and their links."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.coverage.drawing import records_of, reports_of
from benchmarks.coverage.setting import Interval, Numbers, Setting
from benchmarks.coverage.settings.cells import GROUPED, JOINT, LAW, independent
from benchmarks.coverage.settings.log_linear import sampled_pairs
from pramana_core.estimation.estimated import EstimatedMarginals, Estimator
from pramana_core.learn.networks.bayes_net import learn_parameters
from pramana_core.learn.networks.structure import Structure
from pramana_core.plan import Plan

_NODES = ("a", "b", "c")


def _parameters(
    plan: Plan, records: int, parents: dict[str, list[str]], estimator: Estimator = "moment"
) -> Callable[[np.random.Generator], Interval]:
    """Return what learns the parameters of a network of three nodes once."""
    structure = Structure.of(parents)
    truth = np.concatenate([_true(node, found).ravel() for node, found in structure.families])

    def repeat(rng: np.random.Generator) -> Interval:
        reports = reports_of(plan, records_of(plan, LAW, records, rng), rng)
        families = learn_parameters(
            EstimatedMarginals(reports, plan, estimator=estimator), structure
        ).families
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


_WIDE = (
    "Fieller's interval is all of [0, 1] where the reports do not tell whether anybody has such"
    " parents at all"
)

SETTINGS: tuple[Setting, ...] = (
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
        why=_WIDE,
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
