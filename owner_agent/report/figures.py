"""The figures of the plan's report, as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from owner_agent.report.accuracy import record_counts
from owner_agent.report.contents import VariableReport
from owner_agent.report.report import PlanReport
from pramana_core.pictures import plots
from pramana_core.pictures.plots import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY
from pramana_core.pictures.svg import short
from pramana_core.ties import descending

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LINES = (BLUE, RED, GREEN, PURPLE, "#7A5200", SKY, ORANGE, "#444444")
_DASHES = ("-", "--", "-.", ":")

FACETS = 40
"""At most so many small pictures of one kind; beyond, the most exposed variables."""

FACET_CATEGORIES = 12
"""At most so many categories in one of them; beyond, the most exposed."""

_ALIKE = 1e-12
COLUMNS = 3
_LABELLED = 8
_WIDTH = 11.0


@dataclass(frozen=True)
class Picture:
    """A figure as SVG text, its description, and what it leaves out."""

    svg: str
    description: str
    note: str = ""


def posterior_picture(plan: PlanReport) -> Picture | None:
    """Return each category's prior, worst posterior and limit, a facet per randomized variable."""
    rows = [v for v in plan.variables if v.attack.worst is not None and v.channel != "none"]
    if not rows:
        return None
    shown = _most_exposed(rows, FACETS)
    heights = [0.7 + 0.21 * len(_shown_codes(v)) for v in shown]
    columns = min(COLUMNS, len(shown))

    def draw(figure: Figure) -> None:
        axes = plots.facets(figure, heights, columns)
        for axis, row in zip(axes, shown, strict=True):
            _dumbbells(axis, row)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=3, fontsize=9)

    size = _WIDTH * columns / COLUMNS, sum(plots.lines(heights, columns)) + 0.4
    cut = any(1 < len(_shown_codes(v)) < len(v.categories) for v in shown)
    return Picture(
        plots.svg(draw, size, "posterior"),
        "Prior belief, worst posterior and limit for each category of each randomized variable.",
        _left_out(len(rows), len(shown), "variables")
        + (f" Of each variable the {FACET_CATEGORIES} most exposed categories." if cut else ""),
    )


def width_picture(plan: PlanReport) -> Picture | None:
    """Return the half widths of 95 % intervals against the number of records, log-log."""
    widths = plan.widths()
    if not widths:
        return None
    names = list(widths)
    order = [names[place] for place in descending([widths[name][-1] for name in names])]
    labelled = order if len(order) <= _LABELLED else [*order[: _LABELLED - 1], order[-1]]

    def draw(figure: Figure) -> None:
        axis = figure.subplots()
        counts = np.array(record_counts(plan.records))
        for name in order:
            if name not in labelled:
                axis.plot(counts, widths[name], color="#cccccc", linewidth=0.9, zorder=1)
        for place, name in enumerate(labelled):
            colour, dashes = _LINES[place % len(_LINES)], _DASHES[place % len(_DASHES)]
            axis.plot(counts, widths[name], color=colour, linestyle=dashes, zorder=2)
        axis.axvline(plan.records, color="#444444", linewidth=1)
        plots.above(axis, plan.records, f"N = {plan.records:,}", "data", ha="center")
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlim(counts[0], counts[-1])
        # Room below the lines' ends, so that their names can stand apart.
        axis.set_ylim(bottom=min(widths[name][-1] for name in order) / 4)
        axis.set_xlabel("records")
        axis.set_ylabel("half width of the 95 % interval")
        axis.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
        axis.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        _label_lines(axis, [(name, widths[name][-1]) for name in labelled])

    grey = len(order) - len(labelled)
    return Picture(
        plots.svg(draw, (_WIDTH, 4.6), "width"),
        "Half width of the 95 % interval of the worst proportion against the number of records.",
        f"Lines of variables that are not named are grey: {grey}." if grey else "",
    )


def _most_exposed(rows: Sequence[VariableReport], count: int) -> list[VariableReport]:
    """Return the variables whose categories gain most, in the plan's order."""

    gained = [float((np.array(r.attack.worst) - np.array(r.attack.prior)).max()) for r in rows]
    order = descending(gained, scale=1.0).tolist()
    # Those that are public come last.
    order.sort(key=lambda place: not rows[place].sensitive)
    return [rows[place] for place in sorted(order[:count])]


def _left_out(all_of_them: int, shown: int, what: str) -> str:
    if shown == all_of_them:
        return ""
    return f"The {shown} most exposed of {all_of_them} {what}; the JSON file has all."


def _dumbbells(axis: Axes, row: VariableReport) -> None:
    prior, worst = np.array(row.attack.prior), np.array(row.attack.worst)
    codes = _shown_codes(row)
    together = len(codes) == 1
    limits = [row.limit(float(p)) for p in prior[codes]]
    heights = np.arange(len(codes))
    names = [f"all {len(prior)} categories"] if together else [row.categories[c] for c in codes]
    plots.rows(axis, [short(name, 18) for name in names], size=8)
    axis.hlines(heights, prior[codes], worst[codes], color=BLUE, linewidth=2, alpha=0.5)
    axis.plot(
        prior[codes], heights, "o", mfc="white", mec=GREY, markersize=5, label="before: the prior"
    )
    axis.plot(
        worst[codes], heights, "o", color=BLUE, markersize=5, label="after the most telling report"
    )
    axis.plot(
        limits, heights, "|", color=RED, markersize=9, markeredgewidth=2,
        label="limit by gamma",
    )  # fmt: skip
    axis.set_xlim(-0.03, 1.03)
    axis.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100 %"])
    axis.set_title(short(row.name, 34), fontsize=10, parse_math=False)


def _shown_codes(row: VariableReport) -> list[int]:
    """Return the categories worth a line: one for all if all are alike, else the most exposed."""
    prior, worst = np.array(row.attack.prior), np.array(row.attack.worst)
    if np.ptp(prior) < _ALIKE and np.ptp(worst) < _ALIKE:
        return [0]
    codes = descending(worst - prior, scale=1.0)[:FACET_CATEGORIES]
    return sorted(int(code) for code in codes)


def _label_lines(axis: Axes, ends: Sequence[tuple[str, float]]) -> None:
    """Name lines at their right ends, moved apart where they would overlap."""
    low, high = (np.log(v) for v in axis.get_ylim())
    height, gap = high - low, 0.052
    wanted = [(np.log(value) - low) / height for _, value in ends]
    top = 1.0
    for place, (name, _) in enumerate(ends):
        left = len(ends) - 1 - place
        y = max(min(wanted[place], top - gap), gap * (left + 1))
        top = y
        axis.annotate(
            short(name, 24), (1.0, wanted[place]), (1.045, y), xycoords="axes fraction",
            textcoords="axes fraction", va="center", fontsize=9, parse_math=False,
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-", "color": _LINES[place % len(_LINES)], "relpos": (0, 0.5),
            },
        )  # fmt: skip
