"""The demonstration's report: one HTML file with its pictures inside, nothing loaded."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from owner_agent.site.planning import planned
from owner_agent.site.site import load_site
from owner_agent.table.encode import encode
from pramana.demo.scenario import Scenario
from pramana_core.domain import Domain
from pramana_core.errors import RecordsDoNotAlign
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.networks.bayes_net import LearnedBayesNet, Parameter, learn_parameters
from pramana_core.learn.networks.drawing import draw_structure
from pramana_core.learn.networks.network import BayesNet
from pramana_core.learn.networks.structure import Structure
from pramana_core.marginals.counts import Codes, ReportedCounts
from pramana_core.pictures import plots
from pramana_core.pictures.plots import BLUE, GREY, RED
from pramana_core.pictures.svg import short
from pramana_core.plan import Block, Plan
from pramana_core.privacy import (
    PRIOR,
    Amplification,
    epsilon,
    gamma,
    gamma_within_groups,
    largest_proportion_se,
)
from pramana_core.wire.models import BayesNetMessage, ParameterMessage

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Row:
    """One parameter: `estimate` and `se` come from the miner, `truth` and `clean` do not.

    `truth` is the parameter of the network that the records were drawn from, and `se` the error
    against the population. `low` and `high` bound the 95 % interval for `truth`. `estimate`, `se`
    and `z` are None where the reports hold no such parents.
    """

    node: str
    value: str
    parents: dict[str, str]
    truth: float
    clean: float | None
    estimate: float | None
    se: float | None
    z: float | None
    low: float
    high: float

    @property
    def covered(self) -> bool | None:
        """Whether the interval holds the truth; None without an estimate."""
        if self.estimate is None:
            return None
        # An unrandomized value is its own interval; rounding must not put it outside.
        return self.low - 1e-12 <= self.truth <= self.high + 1e-12


@dataclass(frozen=True)
class DemoOutcome:
    """What a demonstration found."""

    title: str
    records: int
    rows: tuple[Row, ...]
    seconds: float
    seed: int | None

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form of `result.json`."""
        return {
            "title": self.title,
            "records": self.records,
            "error": "population",
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


def compare(model: BayesNetMessage, clean: LearnedBayesNet, truth: BayesNet) -> tuple[Row, ...]:
    """Put the model's parameters beside the clean sample's and the truth."""
    exact = {_key(p): p for p in clean.parameters()}
    return tuple(_row(p, exact[_key(p)], truth) for p in model.parameters)


def _key(parameter: Parameter | ParameterMessage) -> tuple[Any, ...]:
    return parameter.node, parameter.value, *sorted(parameter.parents.items())


def _row(found: ParameterMessage, clean: Parameter, truth: BayesNet) -> Row:
    target, se = _parameter(truth, found), found.se
    low, high = found.interval
    known = found.estimate is not None and se is not None and se > 0
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


_WIDTH, _BELOW = 5.4, 0.65
"""Inches of a picture, and of what is below its axis."""


def write_report(
    path: Path,
    sites: Sequence[Path],
    scenario: Scenario,
    outcome: DemoOutcome,
    model: BayesNetMessage,
) -> None:
    """Write the report of a demonstration, given the owners' site files and the miner's model."""
    environment = Environment(
        loader=PackageLoader("pramana.demo"), autoescape=True, undefined=StrictUndefined
    )
    held, known = outcome.coverage()
    text = environment.get_template("report.html.j2").render(
        outcome=outcome,
        held=held,
        known=known,
        note=scenario.note,
        picture=draw_structure(scenario.structure, scenario.owner_of).svg(),
        parameters=_parameter_pictures(outcome),
        errors=_error_picture(outcome.rows),
        channels=_channels(sites, outcome.records),
        model=model,
        told=model.told.to_amplification().told,
        prior=PRIOR,
        infinity=math.inf,
        number=lambda value: "n/a" if value is None else f"{value:.4f}",
    )
    path.write_text(text, encoding="utf-8")


def _channels(sites: Sequence[Path], records: int) -> list[dict[str, Any]]:
    """Say what each owner did to each variable and what it costs."""
    rows = []
    for path in sites:
        file = load_site(path)
        plan = planned(file)
        kinds = {v.name: v.channel.kind for v in file.file.variables if v.channel is not None}
        kinds |= {name: b.channel.kind for b in file.file.blocks for name in b.variables}
        for block in plan.plan.blocks:
            for name in block.names:
                row = _channel_row(block, name, records)
                row |= {"owner": file.owner, "sensitive": name in plan.sensitive}
                rows.append(row | {"kind": kinds.get(name, "not randomized")})
    return rows


def _channel_row(block: Block, name: str, records: int) -> dict[str, Any]:
    channel = block.channel
    within = gamma_within_groups(channel)
    return {
        "variable": name,
        "block": block.name if len(block.names) > 1 else "",
        "gamma": gamma(channel),
        "within": within if within != gamma(channel) else None,
        "epsilon": epsilon(channel),
        "posterior": Amplification.of(channel).grown(PRIOR),
        "se": largest_proportion_se(block, name, records),
    }


def _shown(rows: Sequence[Row]) -> list[Row]:
    """Leave out the last value of two: it is one less the other and errs with it."""
    first = {row.node: row.value for row in reversed(rows)}
    values = {row.node: {r.value for r in rows if r.node == row.node} for row in rows}
    return [row for row in rows if len(values[row.node]) > 2 or row.value == first[row.node]]


def _parameter_pictures(outcome: DemoOutcome) -> list[str]:
    """Return a picture of each node's parameters: a page lays them out by its width."""
    groups: dict[str, list[Row]] = {}
    for row in _shown(outcome.rows):
        groups.setdefault(row.node, []).append(row)
    # Beside each other stand pictures of like height.
    nodes = sorted(groups, key=lambda node: _facet_height(groups[node]))
    return [_parameter_picture(node, groups[node]) for node in nodes]


def _parameter_picture(node: str, rows: Sequence[Row]) -> str:
    def draw(figure: Figure) -> None:
        axis = figure.subplots()
        _intervals(axis, rows)
        axis.set_title(node, parse_math=False)
        figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=3)

    size = _WIDTH, _facet_height(rows) + _BELOW
    return plots.svg(draw, size, f"parameters of {node}", f"Parameters of {node}")


def _facet_height(rows: Sequence[Row]) -> float:
    return 0.75 + 0.27 * len(rows)


def _intervals(axis: Axes, rows: Sequence[Row]) -> None:
    plots.rows(axis, [_label(row) for row in rows])
    for y, row in enumerate(rows):
        colour = BLUE if row.covered in (True, None) else RED
        axis.hlines(y, max(0, row.low), min(1, row.high), color=colour, linewidth=3, alpha=0.45)
        if row.estimate is not None:
            axis.plot(np.clip(row.estimate, 0, 1), y, "o", color=colour, markersize=5, zorder=3)
    heights = range(len(rows))
    truth, clean = ([getattr(row, kind) for row in rows] for kind in ("truth", "clean"))
    axis.plot(truth, heights, "|", color="black", markersize=11, label="true", zorder=4)
    axis.plot(clean, heights, "o", mfc="white", mec=GREY, markersize=4, label="clean sample")
    axis.plot([], [], "o-", color=BLUE, linewidth=3, markersize=5, label="randomized, 95 %")
    axis.set_xlim(-0.02, 1.02)
    axis.set_xlabel("probability", fontsize=9)


def _label(row: Row) -> str:
    given = ", ".join(f"{name}={value}" for name, value in row.parents.items())
    text = f"{row.value} | {given}" if given else row.value
    return short(text, 44)


def _error_picture(rows: Sequence[Row]) -> str:
    z = np.array([row.z for row in _shown(rows) if row.z is not None])

    def draw(figure: Figure) -> None:
        axis = figure.subplots()
        edges = np.linspace(-4, 4, 17)
        axis.hist(np.clip(z, -4, 4), bins=edges.tolist(), density=True, color=BLUE, alpha=0.45)
        grid = np.linspace(-4, 4, 200)
        axis.plot(grid, np.exp(-(grid**2) / 2) / np.sqrt(2 * np.pi), color="black", linewidth=1)
        axis.set_xlabel("z = (estimate - true) / standard error")
        axis.set_ylabel("parameters")
        axis.set_yticks([])
        axis.spines["left"].set_visible(False)

    return plots.svg(draw, (5.2, 3.2), "errors", "Standardized errors of the parameters")
