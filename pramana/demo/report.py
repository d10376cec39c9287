"""The demonstration's report: what was learned, compared with the truth."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from owner_agent.site.planning import planned
from owner_agent.site.site import load_site
from owner_agent.table.encode import encode
from pramana.demo.scenario import Scenario
from pramana_core.domain import Domain
from pramana_core.errors import RecordsDoNotAlign
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.networks.bayes_net import LearnedBayesNet, learn_parameters
from pramana_core.learn.networks.bayes_net import Parameter as Learned
from pramana_core.learn.networks.drawing import draw_structure
from pramana_core.learn.networks.network import BayesNet
from pramana_core.learn.networks.structure import Structure
from pramana_core.marginals.counts import Codes, ReportedCounts
from pramana_core.pictures import plots
from pramana_core.pictures.plots import BLUE, GREY, RED
from pramana_core.pictures.svg import short
from pramana_core.plan import Plan
from pramana_core.privacy import PRIOR, Amplification, gamma_within_groups, largest_proportion_se
from pramana_core.report.numbers import belief, bound, percent
from pramana_core.report.report import Column, Fact, Picture, Report, Row, Section, Sentence, Table
from pramana_core.wire.models import BayesNetMessage, ParameterMessage

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Parameter:
    """One parameter: the miner's estimate and the truth.

    Attributes:
        truth: the parameter of the network that the records were drawn from.
        clean: the estimate from the sample before randomization.
        estimate, se, z: the miner's, with its error against the population; None where the reports
            hold no such parents.
        low, high: the 95 % interval for `truth`.
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
    """The results of a demonstration."""

    title: str
    records: int
    rows: tuple[Parameter, ...]
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
    """Learn the same parameters from the owners' true tables, which no service has."""
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
    model: BayesNetMessage, clean: LearnedBayesNet, truth: BayesNet
) -> tuple[Parameter, ...]:
    """Compare the model's parameters with the clean sample's and the truth."""
    exact = {_key(p): p for p in clean.parameters()}
    return tuple(_row(p, exact[_key(p)], truth) for p in model.parameters)


def _key(parameter: Learned | ParameterMessage) -> tuple[Any, ...]:
    return parameter.node, parameter.value, *sorted(parameter.parents.items())


def _row(found: ParameterMessage, clean: Learned, truth: BayesNet) -> Parameter:
    target, se = _parameter(truth, found), found.se
    low, high = found.interval
    known = found.estimate is not None and se is not None and se > 0
    return Parameter(
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

_FOLDED = 120
"""A table of more parameters is folded."""


def demo_report(
    sites: Sequence[Path], scenario: Scenario, outcome: DemoOutcome, model: BayesNetMessage
) -> Report:
    """Return the report of a demonstration, given the owners' site files and the miner's model."""
    held, known = outcome.coverage()
    unknown = len(outcome.rows) - known
    left = f" ({unknown} have no estimate or no truth)" if unknown else ""
    facts = [
        Fact(f"{outcome.records:,}", "records at each owner"),
        Fact(f"{len(model.releases)}", "owners"),
        Fact(f"{len(outcome.rows)}", "parameters"),
        Fact(f"{held} of {known}", f"95 % intervals hold the true value{left}"),
        Fact(f"{outcome.seconds:.1f} s", "from first process to comparison"),
    ]
    lead = (
        "Each owner randomized its sensitive columns and sent the result with the transition"
        " matrices to the miner. The miner never saw a true value of them; it inverted the noise,"
        " and this is what it learned, beside the truth that it could not see."
    )
    network = "The network, and who holds what"
    errors = (
        "Standardized errors of the parameters, beside the normal curve they should follow. The"
        " standard error is that against the population: randomization and the sampling of the"
        " records."
    )
    drawn = draw_structure(scenario.structure, scenario.owner_of)
    sections = [
        Section(facts=facts, sentences=[Sentence(lead, "note", brief=False)]),
        Section(
            network,
            [scenario.note] if scenario.note else [],
            pictures=[
                Picture(network, drawn.svg),
                Picture("Standardized errors", lambda: _error_picture(outcome.rows)),
            ],
            notes=[errors],
            brief=False,
        ),
        _channels(sites, outcome.records, model.told.to_amplification()),
        Section(
            "Parameters with their intervals",
            [
                (
                    "Black bars are the true values, rings those of the clean sample; dots are the"
                    " estimates from randomized reports with their 95 % intervals, orange where the"
                    " interval misses the truth, as one in twenty does. Of two values the first is"
                    " drawn."
                )
            ],
            pictures=list(_parameter_pictures(outcome)),
            brief=False,
        ),
        _parameters(outcome),
    ]
    made = "Fresh keys, no seed." if outcome.seed is None else f"Seed {outcome.seed}."
    releases = ", ".join(f"{owner} {digest[:12]}" for owner, digest in model.releases.items())
    foot = f"Written by pramana demo. {made} Releases: {releases}."
    return Report(outcome.title, sections, outcome.as_dict(), foot)


def _channels(sites: Sequence[Path], records: int, told: Amplification) -> Section:
    """Return what each owner did to each variable and what it costs."""
    rows = [row for path in sites for row in _channel_rows(path, records)]

    def gamma(row: Row) -> str:
        told, within = bound(row["told"].gamma), bound(row["within"])
        return told if told == within else f"{told}\n{within} within groups"

    columns = (
        Column("variable", lambda row: row["variable"], number=False),
        Column("owner", lambda row: row["owner"], number=False),
        Column("sensitive", lambda row: "yes" if row["sensitive"] else "no", number=False),
        Column("channel", lambda row: row["kind"], number=False),
        Column("γ", gamma),
        Column("ε = ln γ", lambda row: bound(row["told"].epsilon)),
        Column("worst s.e.\nof a share", lambda row: f"{row['se']:.4f}"),
        Column(
            f"{percent(PRIOR)} grows to at most,\nby its own block alone",
            lambda row: belief(row["told"], PRIOR),
        ),
    )
    said = (
        f"All owners together tell of one person's whole record: {told.told}, by the columns that"
        " are randomized."
    )
    title = "What was done to each variable"
    return Section(title, [said], Table(columns, rows), brief=False)


def _channel_rows(path: Path, records: int) -> Iterator[Row]:
    site = load_site(path)
    plan = planned(site)
    kinds = {v.name: v.channel.kind for v in site.file.variables if v.channel is not None}
    kinds |= {name: b.channel.kind for b in site.file.blocks for name in b.variables}
    for block in plan.plan.blocks:
        over = f" over {block.name}" if len(block.names) > 1 else ""
        public = block.channel.is_identity
        for name in block.names:
            yield {
                "variable": name,
                "owner": site.owner,
                "sensitive": name in plan.sensitive,
                "kind": kinds.get(name, "not randomized") + over,
                "told": Amplification(math.inf) if public else Amplification.of(block.channel),
                "within": math.inf if public else gamma_within_groups(block.channel),
                "se": largest_proportion_se(block, name, records),
            }


def _parameters(outcome: DemoOutcome) -> Section:
    def given(row: Row) -> str:
        return ", ".join(f"{name}={value}" for name, value in row["parents"].items())

    columns = (
        Column("node", lambda row: row["node"], number=False),
        Column("value", lambda row: row["value"], number=False),
        Column("parents", given, number=False),
        Column("true", lambda row: _number(row["truth"])),
        Column("clean\nsample", lambda row: _number(row["clean"])),
        Column("estimate", lambda row: _number(row["estimate"]), high=_missed),
        Column("s.e.", lambda row: _number(row["se"])),
        Column("z", lambda row: "" if row["z"] is None else f"{row['z']:+.2f}"),
        Column(
            "95 % interval",
            lambda row: f"{_number(row['low'])} to {_number(row['high'])}",
            brief=False,
        ),
    )
    rows = [{**asdict(row), "covered": row.covered} for row in outcome.rows]
    words = (
        "Estimates are raw ratios of estimated counts and may leave [0, 1] where the noise is"
        " large; the network that the miner exports holds their projection. A dash: the reports"
        " hold no records with these parents. Values of one row sum to 1, so they err together."
    )
    return Section(
        "All parameters",
        [Sentence(words, "note")],
        Table(columns, rows),
        folded="All parameters as a table" if len(rows) > _FOLDED else "",
    )


def _missed(row: Row) -> bool:
    return row["covered"] is False


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _shown(rows: Sequence[Parameter]) -> list[Parameter]:
    """Leave out the last value of two: it is one less the other and errs with it."""
    first = {row.node: row.value for row in reversed(rows)}
    values = {row.node: {r.value for r in rows if r.node == row.node} for row in rows}
    return [row for row in rows if len(values[row.node]) > 2 or row.value == first[row.node]]


def _parameter_pictures(outcome: DemoOutcome) -> Iterator[Picture]:
    """Yield a picture of each node's parameters; neighbours have like heights."""
    groups: dict[str, list[Parameter]] = {}
    for row in _shown(outcome.rows):
        groups.setdefault(row.node, []).append(row)
    for node in sorted(groups, key=lambda node: len(groups[node])):
        about = f"Parameters of {node}"
        yield Picture(about, partial(_parameter_picture, node, groups[node]))


def _parameter_picture(node: str, rows: Sequence[Parameter]) -> str:
    def draw(figure: Figure) -> None:
        axis = figure.subplots()
        _intervals(axis, rows)
        axis.set_title(node, parse_math=False)
        figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=3)

    size = _WIDTH, 0.75 + 0.27 * len(rows) + _BELOW
    return plots.svg(draw, size, f"parameters of {node}")


def _intervals(axis: Axes, rows: Sequence[Parameter]) -> None:
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


def _label(row: Parameter) -> str:
    given = ", ".join(f"{name}={value}" for name, value in row.parents.items())
    text = f"{row.value} | {given}" if given else row.value
    return short(text, 44)


def _error_picture(rows: Sequence[Parameter]) -> str:
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

    return plots.svg(draw, (5.2, 3.2), "errors")
