"""Linear classifiers where no reports tell all variables together: from pairs, or by a model."""

from __future__ import annotations

from typing import Any

import numpy as np

from pramana.setups import SeededOwner
from pramana_core.domain import Domain
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.common.options import LinearOptions
from pramana_core.learn.linear.fitting import learn_linear
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Plan


def options_of(loss: str, steps: int, **more: Any) -> LinearOptions:
    """Return options of a loss; the steps are the perceptron's."""
    return LinearOptions(loss, **more, **({"steps": steps} if loss == "perceptron" else {}))


def drawn(width: int, records: int, classes: int = 2, seed: int = 3) -> dict[str, np.ndarray]:
    """Return records of ternary features, each of which depends on the class and the one before."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, records)
    columns = {"y": y}
    last = y
    for number in range(width):
        told = rng.random(records) < 0.4
        last = np.where(told, (last + y) % 3, rng.integers(0, 3, records))
        columns[f"x{number}"] = last
    return {name: column.astype(np.uint8) for name, column in columns.items()}


def domain(width: int, classes: int = 2) -> Domain:
    return Domain.of(**{f"x{n}": "abc" for n in range(width)}, y="ABCD"[:classes])


def reports(columns: dict[str, np.ndarray], plan: Plan, seed: int) -> ReportedCounts:
    """Randomize records as an owner does."""
    return SeededOwner.of("pairs", seed, len(columns["y"])).report(plan, columns, 0)


def sampled_around(over: Domain, gamma: float) -> Plan:
    """Return a plan by which a record reports the class and one feature."""
    from pramana_core.design.families import Requirements, sampled

    sets = [(name, "y") for name in over.names if name != "y"]
    return sampled(sets)(Requirements(over, dict.fromkeys(over.names, gamma), gamma))


def test_wide_tables_cost_what_their_pairs_cost() -> None:
    over, columns = domain(40), drawn(40, 5_000)
    plan = sampled_around(over, 19.0)
    seen = EstimatedMarginals(reports(columns, plan, 4), plan, estimator="pooled")
    for loss in ("logistic", "least-squares", "perceptron"):
        options = options_of(loss, 20, sample=5_000)
        model = learn_linear(seen, "y", options=options)
        assert np.mean(model.predict(columns) == columns["y"]) > 0.6
