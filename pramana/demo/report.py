"""The demonstration's report: one HTML file with its pictures inside, nothing loaded."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from owner_agent.site.planning import planned
from owner_agent.site.site import load_site
from pramana.demo.outcome import Outcome, Row
from pramana.demo.scenario import Scenario
from shared.learn.networks.exchange.drawing import draw_structure
from shared.plan import Block
from shared.privacy import (
    PRIOR,
    Amplification,
    epsilon,
    gamma,
    gamma_within_groups,
    largest_proportion_se,
)
from shared.wire.models import BayesNetMessage

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FACET_ROWS = 24
_BLUE, _GREY, _RED = "#2f6f9f", "#888888", "#a63d57"


def write_report(
    path: Path, sites: Sequence[Path], scenario: Scenario, outcome: Outcome, model: BayesNetMessage
) -> None:
    """Write the report of a demonstration.

    Args:
        path: the HTML file.
        sites: the owners' site files.
        scenario: what was run.
        outcome: what was found.
        model: the model as the miner answered it.
    """
    environment = Environment(
        loader=PackageLoader("pramana.demo"), autoescape=True, undefined=StrictUndefined
    )
    held, known = outcome.coverage()
    text = environment.get_template("report.html.j2").render(
        outcome=outcome,
        held=held,
        known=known,
        note=scenario.note,
        network=outcome.reference == "network",
        picture=draw_structure(scenario.structure, scenario.owner_of),
        parameters=_svg(_parameter_figure(outcome)),
        errors=_svg(_error_figure(outcome.rows)),
        channels=_channels(sites, outcome.records),
        model=model,
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


def _parameter_figure(outcome: Outcome) -> Figure:
    from matplotlib.figure import Figure

    shown = _shown(outcome.rows)
    groups: dict[str, list[Row]] = {}
    for row in shown:
        groups.setdefault(row.node, []).append(row)
    # Beside each other stand facets of like height.
    nodes = sorted(groups, key=lambda node: _facet_height(groups[node]))
    columns = 2
    lines = [
        max(_facet_height(groups[node]) for node in nodes[i : i + columns])
        for i in range(0, len(nodes), columns)
    ]
    figure = Figure(figsize=(11, sum(lines)), layout="constrained")
    axes = figure.subplots(
        len(lines), columns, squeeze=False, gridspec_kw={"height_ratios": lines}
    ).ravel()
    for axis, node in zip(axes, nodes, strict=False):
        if len(groups[node]) <= _FACET_ROWS:
            _intervals(axis, groups[node])
        else:
            _scatter(axis, groups[node])
        axis.set_title(node, loc="left", fontweight="bold", parse_math=False)
    for axis in axes[len(nodes) :]:
        axis.set_visible(False)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper right", ncols=3, frameon=False)
    return figure


def _facet_height(rows: Sequence[Row]) -> float:
    return 0.75 + 0.27 * len(rows) if len(rows) <= _FACET_ROWS else 4.4


def _intervals(axis: Axes, rows: Sequence[Row]) -> None:
    heights = np.arange(len(rows))[::-1]
    for row, y in zip(rows, heights, strict=True):
        colour = _BLUE if row.covered in (True, None) else _RED
        axis.hlines(y, max(0, row.low), min(1, row.high), color=colour, linewidth=3, alpha=0.45)
        if row.estimate is not None:
            axis.plot(np.clip(row.estimate, 0, 1), y, "o", color=colour, markersize=5, zorder=3)
    _marks(axis, rows, heights)
    axis.set_xlim(-0.02, 1.02)
    axis.set_ylim(-0.7, len(rows) - 0.3)
    axis.set_yticks(heights, [_label(row) for row in rows], fontsize=9, parse_math=False)
    axis.grid(axis="x", color="#e4e4e4")
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.tick_params(axis="y", length=0)


def _marks(axis: Axes, rows: Sequence[Row], heights: Any) -> None:
    truth = [np.nan if row.truth is None else row.truth for row in rows]
    axis.plot(truth, heights, "|", color="black", markersize=11, label="true", zorder=4)
    clean = [np.nan if row.clean is None else row.clean for row in rows]
    if clean != truth:
        axis.plot(
            clean,
            heights,
            "o",
            mfc="white",
            mec=_GREY,
            markersize=4,
            label="clean sample",
            zorder=2,
        )
    axis.plot([], [], "o-", color=_BLUE, linewidth=3, markersize=5, label="randomized, 95 %")


def _scatter(axis: Axes, rows: Sequence[Row]) -> None:
    """Estimate against truth, for nodes with too many parameters to list."""
    known = [row for row in rows if row.estimate is not None and row.truth is not None]
    axis.plot([0, 1], [0, 1], color="#bbbbbb", linewidth=1)
    for held, colour in ((True, _BLUE), (False, _RED)):
        some = [row for row in known if row.covered is held]
        truth = np.array([row.truth for row in some], dtype=float)
        estimate = np.array([row.estimate for row in some], dtype=float)
        axis.vlines(
            truth,
            [row.low for row in some],
            [row.high for row in some],
            color=colour,
            linewidth=1,
            alpha=0.35,
        )
        axis.plot(truth, estimate, "o", color=colour, markersize=2.5)
    axis.plot([], [], "|", color="black", label="true")
    axis.plot([], [], "o-", color=_BLUE, linewidth=3, markersize=5, label="randomized, 95 %")
    axis.set_xlim(-0.02, 1.02)
    axis.set_ylim(-0.2, 1.2)
    axis.set_xlabel("true", fontsize=9)
    axis.set_ylabel("estimate", fontsize=9)
    axis.grid(color="#eeeeee")
    axis.spines[["top", "right"]].set_visible(False)


def _label(row: Row) -> str:
    given = ", ".join(f"{name}={value}" for name, value in row.parents.items())
    text = f"{row.value} | {given}" if given else row.value
    return text if len(text) <= 44 else f"{text[:43]}…"


def _error_figure(rows: Sequence[Row]) -> Figure:
    from matplotlib.figure import Figure

    z = np.array([row.z for row in _shown(rows) if row.z is not None])
    figure = Figure(figsize=(5.2, 3.2), layout="constrained")
    axis = figure.subplots()
    edges = np.linspace(-4, 4, 17)
    axis.hist(np.clip(z, -4, 4), bins=edges.tolist(), density=True, color=_BLUE, alpha=0.45)
    grid = np.linspace(-4, 4, 200)
    axis.plot(grid, np.exp(-(grid**2) / 2) / np.sqrt(2 * np.pi), color="black", linewidth=1)
    axis.set_xlabel("z = (estimate - true) / standard error")
    axis.set_yticks([])
    axis.spines[["top", "right", "left"]].set_visible(False)
    return figure


def _svg(figure: Figure) -> str:
    import matplotlib as mpl

    buffer = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "pramana"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]
