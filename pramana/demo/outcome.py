"""The comparison a demonstration is for: truth, clean sample and estimate side by side."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from owner_agent.site.planning import planned
from owner_agent.site.site import load_site
from owner_agent.table.encode import encode
from pramana_core.domain import Domain
from pramana_core.errors import RecordsDoNotAlign
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.networks.bayes_net import LearnedBayesNet, Parameter, learn_parameters
from pramana_core.learn.networks.network import BayesNet
from pramana_core.learn.networks.structure import Structure
from pramana_core.marginals.counts import Codes, ReportedCounts
from pramana_core.plan import Plan
from pramana_core.wire.learning.models import BayesNetMessage, ParameterMessage

Reference = Literal["network", "table"]


@dataclass(frozen=True)
class Row:
    """One parameter: `estimate` and `se` come from the miner, `truth` and `clean` do not.

    Where the records were drawn from a network, `truth` is that network's parameter and `se` the
    error against the population; where they are a user's table, `truth` is the table's own value
    and `se` the error of randomization alone. `low` and `high` bound the 95 % interval for
    `truth`. `estimate`, `se` and `z` are None where the reports hold no such parents.
    """

    node: str
    value: str
    parents: dict[str, str]
    truth: float | None
    clean: float | None
    estimate: float | None
    se: float | None
    z: float | None
    low: float
    high: float

    @property
    def covered(self) -> bool | None:
        """Whether the interval holds the truth; None without a truth or an estimate."""
        if self.truth is None or self.estimate is None:
            return None
        # An unrandomized value is its own interval; rounding must not put it outside.
        return self.low - 1e-12 <= self.truth <= self.high + 1e-12


@dataclass(frozen=True)
class DemoOutcome:
    """What a demonstration found."""

    title: str
    reference: Reference
    records: int
    rows: tuple[Row, ...]
    seconds: float
    seed: int | None

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form of `result.json`."""
        return {
            "title": self.title,
            "records": self.records,
            "reference": self.reference,
            "error": "population" if self.reference == "network" else "records",
            "seed": self.seed,
            "parameters": [asdict(row) for row in self.rows],
            "seconds": round(self.seconds, 3),
        }

    def coverage(self) -> tuple[int, int]:
        """Return how many intervals hold the truth, and of how many."""
        known = [row.covered for row in self.rows if row.covered is not None]
        return sum(known), len(known)


def learn_clean(site_files: Iterable[Path], structure: Structure) -> LearnedBayesNet:
    """Learn the same parameters from the owners' true tables, put together.

    No service can do this: it is the yardstick of a demonstration whose tables are all at hand.

    Raises:
        RecordsDoNotAlign: the tables do not hold the same records.
    """
    domain = Domain(())
    columns: dict[str, Codes] = {}
    reference: list[str] | None = None
    for path in site_files:
        site = load_site(path)
        plan = planned(site)
        encoded = encode(site, plan)
        order = np.argsort(np.array(encoded.record_ids))
        ids = [encoded.record_ids[i] for i in order]
        if reference is not None and ids != reference:
            raise RecordsDoNotAlign(f"The records of {site.owner} are not those of the others.")
        reference = ids
        domain = domain.join(plan.plan.domain)
        columns |= {name: codes[order] for name, codes in encoded.columns.items()}
    exact = Plan.unrandomized(domain)
    marginals = EstimatedMarginals(ReportedCounts(columns, exact.reported_sizes), exact)
    return learn_parameters(marginals, structure)


def compare(
    model: BayesNetMessage, clean: LearnedBayesNet, truth: BayesNet | None
) -> tuple[Row, ...]:
    """Put the model's parameters beside the clean sample's and the truth."""
    exact = {_key(p): p for p in clean.parameters()}
    return tuple(_row(p, exact[_key(p)], truth) for p in model.parameters)


def _key(parameter: Parameter | ParameterMessage) -> tuple[Any, ...]:
    return parameter.node, parameter.value, *sorted(parameter.parents.items())


def _row(found: ParameterMessage, clean: Parameter, truth: BayesNet | None) -> Row:
    if truth is None:
        target, se = clean.estimate, found.se_records
        half = 1.96 * (se or 0.0)
        middle = found.estimate if found.estimate is not None else 0.5
        low, high = (middle - half, middle + half) if se is not None else (0.0, 1.0)
    else:
        target, se = _parameter(truth, found), found.se
        low, high = found.interval
    known = found.estimate is not None and target is not None and se is not None and se > 0
    return Row(
        node=found.node,
        value=found.value,
        parents=found.parents,
        truth=target,
        clean=clean.estimate,
        estimate=found.estimate,
        se=se,
        z=(found.estimate - target) / se if known else None,  # type: ignore[operator]
        low=low,
        high=high,
    )


def _parameter(network: BayesNet, found: ParameterMessage) -> float:
    cell = tuple(
        network.domain[p].code(found.parents[p]) for p in network.structure.parents[found.node]
    )
    return float(network.tables[found.node][(*cell, network.domain[found.node].code(found.value))])
