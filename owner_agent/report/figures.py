"""The picture of a plan's report: beliefs before and after a report."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pramana_core.pictures import plots
from pramana_core.pictures.plots import BLUE, GREY, RED
from pramana_core.pictures.svg import short
from pramana_core.report.report import Picture, Row
from pramana_core.ties import descending

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FACETS, FACET_CATEGORIES = 40, 12
"""The most small pictures, and the most categories in one; beyond, the most exposed."""

_ALIKE = 1e-12
_COLUMNS = 3
_WIDTH = 11.0


def posterior_picture(variables: Sequence[Row]) -> tuple[Picture, str] | None:
    """Return the picture of beliefs by variable, and what is left out; None without any."""
    rows = [v for v in variables if v["posteriors"] and v["channel"] != "none"]
    if not rows:
        return None
    shown = _most_exposed(rows)
    cut = any(1 < len(_shown_codes(v)) < len(v["posteriors"]) for v in shown)
    words = f"The {len(shown)} most exposed of {len(rows)} variables." * (len(shown) < len(rows))
    words += f" Of each variable the {FACET_CATEGORIES} most exposed categories." * cut
    about = "Prior belief, worst posterior and limit for each category of each randomized variable."
    return Picture(about, partial(_posteriors, shown)), words


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
