"""The demonstration's report: the learned network compared with the truth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pramana.demo.scenario import Scenario
from pramana_core.learn.networks.drawing import draw_structure
from pramana_core.learn.networks.network import BayesNet
from pramana_core.pictures import plots
from pramana_core.pictures.plots import BLUE, RED
from pramana_core.pictures.svg import short
from pramana_core.report.report import Column, Fact, Picture, Report, Row, Section, Sentence, Table
from pramana_core.wire.models import BayesNetMessage, ParameterMessage

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Parameter:
    """A true parameter of the network behind the records, and the miner's estimate.

    `se` is the standard error relative to the population, `z` the estimate's error in standard
    errors, and `low` to `high` the 95 % interval. `estimate`, `se` and `z` are None if no report
    has the parents' categories `given`.
    """

    node: str
    value: str
    parents: dict[str, str]
    truth: float
    estimate: float | None
    se: float | None
    z: float | None
    low: float
    high: float

    @classmethod
    def of(cls, found: ParameterMessage, network: BayesNet) -> Parameter:
        """Return an estimated parameter with the true one in `network`."""
        parents = network.structure.parents[found.node]
        cell = tuple(network.domain[name].code(found.parents[name]) for name in parents)
        code = network.domain[found.node].code(found.value)
        truth = float(network.tables[found.node][(*cell, code)])
        z = None
        if found.estimate is not None and found.se:
            z = (found.estimate - truth) / found.se
        return cls(
            found.node, found.value, found.parents, truth, found.estimate, found.se, z,
            *found.interval,
        )  # fmt: skip

    @property
    def covered(self) -> bool | None:
        """Whether the interval contains the true value; None without an estimate."""
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
        """Return how many intervals contain the true value, and the total count of intervals."""
        known = [row.covered for row in self.rows if row.covered is not None]
        return sum(known), len(known)


def demo_report(scenario: Scenario, outcome: DemoOutcome, model: BayesNetMessage) -> Report:
    """Return the report of a demonstration."""
    covered, known = outcome.coverage()
    facts = [
        Fact(f"{outcome.records:,}", "records at each owner"),
        Fact(f"{len(model.releases)}", "owners"),
        Fact(f"{len(outcome.rows)}", "parameters"),
        Fact(f"{covered} of {known}", "95 % intervals contain the true value"),
        Fact(f"{outcome.seconds:.1f} s", "from first process to comparison"),
    ]
    lead = (
        "Each owner randomized its sensitive columns and sent the reports with the transition"
        " matrices to the miner, which never saw a true value of these columns. The miner"
        " inverted the noise. This page compares its estimates with the true values. All owners"
        f" together disclose of one person's whole record: {model.told.to_amplification().told},"
        " by the randomized columns."
    )
    network = "The network, and which owner has which variables"
    errors = (
        "Standardized errors of the parameters, and the normal curve that they should follow. The"
        " standard errors are against the population: they include both randomization and the"
        " sampling of the records."
    )
    intervals = (
        "Black bars are the true values; dots are the estimates from randomized reports with"
        " their 95 % intervals, orange where the interval misses the truth, as one in twenty"
        " does. Of a variable with two values, only the first is shown."
    )
    drawn = draw_structure(scenario.structure, scenario.owner_of)
    pictures = [
        Picture(network, drawn.svg),
        Picture("Standardized errors", lambda: _error_picture(outcome.rows)),
    ]
    sections = [
        Section(facts=facts, sentences=[Sentence(lead, "note", brief=False)]),
        Section(network, [scenario.note], pictures=pictures, notes=[errors], brief=False),
        Section(
            "Parameters with their intervals",
            [intervals],
            pictures=list(_parameter_pictures(outcome)),
            brief=False,
        ),
        _parameters(outcome),
    ]
    made = "Fresh keys, no seed." if outcome.seed is None else f"Seed {outcome.seed}."
    releases = ", ".join(f"{owner} {digest[:12]}" for owner, digest in model.releases.items())
    foot = f"Written by pramana demo. {made} Releases: {releases}."
    return Report(outcome.title, sections, outcome.as_dict(), foot)


def _parameters(outcome: DemoOutcome) -> Section:
    columns = (
        Column("node", lambda row: row["node"], number=False),
        Column("value", lambda row: row["value"], number=False),
        Column("parents", _given, number=False),
        Column("true", lambda row: _number(row["truth"])),
        Column(
            "estimate",
            lambda row: _number(row["estimate"]),
            high=lambda row: row["covered"] is False,
        ),
        Column("s.e.", lambda row: _number(row["se"])),
        Column("z", lambda row: "" if row["z"] is None else f"{row['z']:+.2f}"),
        Column(
            "95 % interval",
            lambda row: f"{_number(row['low'])} to {_number(row['high'])}",
            brief=False,
        ),
    )
    words = (
        "Estimates are raw ratios of estimated counts and may leave [0, 1] where the noise is"
        " large; the network that the miner exports has their projection. A dash: no reports have"
        " these parents. The values of one row sum to 1, so their errors are related."
    )
    rows = [{**asdict(row), "covered": row.covered} for row in outcome.rows]
    return Section("All parameters", [Sentence(words, "note")], Table(columns, rows))


def _given(row: Row) -> str:
    return ", ".join(f"{name}={value}" for name, value in row["parents"].items())


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


_WIDTH, _BELOW = 5.4, 0.65
"""Heights in inches: of a picture, and of the part below its axis."""


def _shown(rows: Sequence[Parameter]) -> list[Parameter]:
    first = {row.node: row.value for row in reversed(rows)}
    values = {row.node: {r.value for r in rows if r.node == row.node} for row in rows}
    return [row for row in rows if len(values[row.node]) > 2 or row.value == first[row.node]]


def _parameter_pictures(outcome: DemoOutcome) -> Iterator[Picture]:
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
        figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=2)

    size = _WIDTH, 0.75 + 0.27 * len(rows) + _BELOW
    return plots.svg(draw, size, f"parameters of {node}")


def _intervals(axis: Axes, rows: Sequence[Parameter]) -> None:
    plots.rows(axis, [_label(row) for row in rows])
    for y, row in enumerate(rows):
        colour = BLUE if row.covered in (True, None) else RED
        axis.hlines(y, max(0, row.low), min(1, row.high), color=colour, linewidth=3, alpha=0.45)
        if row.estimate is not None:
            axis.plot(np.clip(row.estimate, 0, 1), y, "o", color=colour, markersize=5, zorder=3)
    truth = [row.truth for row in rows]
    axis.plot(truth, range(len(rows)), "|", color="black", markersize=11, label="true", zorder=4)
    axis.plot([], [], "o-", color=BLUE, linewidth=3, markersize=5, label="randomized, 95 %")
    axis.set_xlim(-0.02, 1.02)
    axis.set_xlabel("probability", fontsize=9)


def _label(row: Parameter) -> str:
    given = _given({"parents": row.parents})
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
