"""The pictures of a plan's report: beliefs after a report, and the widths of intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pramana_core.pictures import plots
from pramana_core.pictures.plots import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY
from pramana_core.pictures.svg import short
from pramana_core.report.report import Picture, Row
from pramana_core.ties import descending

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LINES = (BLUE, RED, GREEN, PURPLE, "#7A5200", SKY, ORANGE, "#444444")
_DASHES = ("-", "--", "-.", ":")

FACETS, FACET_CATEGORIES = 40, 12
"""The most small pictures, and the most categories in one; beyond, the most exposed."""

_ALIKE = 1e-12
_COLUMNS = 3
_LABELLED = 8
_WIDTH = 11.0


def posterior_picture(variables: Sequence[Row]) -> tuple[Picture, str] | None:
    """Return each category's prior, worst posterior and limit, by variable; and what is left out.

    None where no variable is randomized.
    """
    rows = [v for v in variables if v["posteriors"] and v["channel"] != "none"]
    if not rows:
        return None
    shown = _most_exposed(rows)
    cut = any(1 < len(_shown_codes(v)) < len(v["posteriors"]) for v in shown)
    words = f"The {len(shown)} most exposed of {len(rows)} variables." * (len(shown) < len(rows))
    words += f" Of each variable the {FACET_CATEGORIES} most exposed categories." * cut
    about = "Prior belief, worst posterior and limit for each category of each randomized variable."
    return Picture(about, partial(_posteriors, shown)), words


def width_picture(widths: Mapping[str, Any], records: int) -> tuple[Picture, str]:
    """Return the half widths of 95 % intervals by the number of records; and what is left out."""
    grey = len(widths["half_widths"]) - _LABELLED
    about = "Half width of the 95 % interval of the worst proportion against the number of records."
    words = f"Lines of variables that are not named are grey: {grey}." if grey > 0 else ""
    return Picture(about, partial(_widths, widths, records)), words


def _posteriors(shown: Sequence[Row]) -> str:
    heights = [0.7 + 0.21 * len(_shown_codes(v)) for v in shown]
    columns = min(_COLUMNS, len(shown))

    def draw(figure: Figure) -> None:
        axes = plots.facets(figure, heights, columns)
        for axis, row in zip(axes, shown, strict=True):
            _dumbbells(axis, row)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=3, fontsize=9)

    size = _WIDTH * columns / _COLUMNS, sum(plots.lines(heights, columns)) + 0.4
    return plots.svg(draw, size, "posterior")


def _widths(widths: Mapping[str, Any], records: int) -> str:
    counts, half = np.array(widths["records"]), widths["half_widths"]
    names = list(half)
    order = [names[place] for place in descending([half[name][-1] for name in names])]
    labelled = order if len(order) <= _LABELLED else [*order[: _LABELLED - 1], order[-1]]

    def draw(figure: Figure) -> None:
        axis = figure.subplots()
        for name in order:
            if name not in labelled:
                axis.plot(counts, half[name], color="#cccccc", linewidth=0.9, zorder=1)
        for place, name in enumerate(labelled):
            colour, dashes = _LINES[place % len(_LINES)], _DASHES[place % len(_DASHES)]
            axis.plot(counts, half[name], color=colour, linestyle=dashes, zorder=2)
        axis.axvline(records, color="#444444", linewidth=1)
        plots.above(axis, records, f"N = {records:,}", "data", ha="center")
        axis.set(xscale="log", yscale="log", xlim=(counts[0], counts[-1]))
        # Room below the lines' ends, so that their names can stand apart.
        axis.set_ylim(bottom=min(half[name][-1] for name in order) / 4)
        axis.set_xlabel("records")
        axis.set_ylabel("half width of the 95 % interval")
        axis.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
        axis.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        _label_lines(axis, [(name, half[name][-1]) for name in labelled])

    return plots.svg(draw, (_WIDTH, 4.6), "width")


def _beliefs(row: Row, name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([line[name] for line in row["posteriors"]])


def _most_exposed(rows: Sequence[Row]) -> list[Row]:
    """Return the variables whose categories gain most, in the plan's order."""
    gained = [float((_beliefs(r, "worst") - _beliefs(r, "prior")).max()) for r in rows]
    order = descending(gained, scale=1.0).tolist()
    # Public ones come last.
    order.sort(key=lambda place: not rows[place]["sensitive"])
    return [rows[place] for place in sorted(order[:FACETS])]


def _dumbbells(axis: Axes, row: Row) -> None:
    codes = _shown_codes(row)
    prior, worst, limits = (_beliefs(row, name)[codes] for name in ("prior", "worst", "limit"))
    heights, labels = np.arange(len(codes)), [line["category"] for line in row["posteriors"]]
    names = [f"all {len(labels)} categories"] if len(codes) == 1 else [labels[c] for c in codes]
    plots.rows(axis, [short(name, 18) for name in names], size=8)
    axis.hlines(heights, prior, worst, color=BLUE, linewidth=2, alpha=0.5)
    axis.plot(prior, heights, "o", mfc="white", mec=GREY, markersize=5, label="before: the prior")
    axis.plot(worst, heights, "o", color=BLUE, markersize=5, label="after the most telling report")
    axis.plot(
        limits, heights, "|", color=RED, markersize=9, markeredgewidth=2,
        label="limit by gamma",
    )  # fmt: skip
    axis.set_xlim(-0.03, 1.03)
    axis.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100 %"])
    axis.set_title(short(row["name"], 34), fontsize=10, parse_math=False)


def _shown_codes(row: Row) -> list[int]:
    """Return the categories worth a line: one for all if all are alike, else the most exposed."""
    prior, worst = _beliefs(row, "prior"), _beliefs(row, "worst")
    if np.ptp(prior) < _ALIKE and np.ptp(worst) < _ALIKE:
        return [0]
    return sorted(int(code) for code in descending(worst - prior, scale=1.0)[:FACET_CATEGORIES])


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
