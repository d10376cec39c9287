"""Scatter plots of relationships, one per column, in versions of a table, one per row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pramana_core.mixed import CategoricalColumn, Column, Floats, MixedTable, NumericColumn
from pramana_core.pictures import plots
from pramana_core.pictures.plots import Chart
from pramana_core.ties import descending

if TYPE_CHECKING:
    from matplotlib.axes import Axes


GROUPS = 20
"""The number of equally large groups into which a numeric column is cut to measure its effect."""

Pair = tuple[str, str]
"""A relationship: the column on the horizontal axis, and the column on the vertical axis."""


def pairs_to_show(told: MixedTable, confidential: MixedTable, most: int = 4) -> tuple[Pair, ...]:
    """Return at most `most` relationships to draw; those that explain most variance come first."""
    columns = [c for c in confidential.columns if isinstance(c, NumericColumn)]
    pairs = [
        (across, up)
        for place, up in enumerate(columns)
        for across in (*told.columns, *columns[:place])
    ]
    order = descending([explained(up.values, across) for across, up in pairs], scale=1.0)
    return tuple((pairs[place][0].name, pairs[place][1].name) for place in order[:most])


def explained(values: Floats, by: Column) -> float:
    """Return the adjusted correlation ratio of n numbers, between the groups of another column."""
    groups = groups_of(by)
    sizes = np.bincount(groups)
    kept = int(np.count_nonzero(sizes))
    if kept >= len(values) or not np.ptp(values):
        return 0.0
    means = np.bincount(groups, weights=values) / np.maximum(sizes, 1)
    within = float(np.sum((values - means[groups]) ** 2) / (len(values) - kept))
    whole = float(np.var(values, ddof=1))
    return 1.0 - within / whole


def groups_of(column: Column) -> npt.NDArray[np.intp]:
    """Return the group of each record: its category, or one of `GROUPS` quantile groups."""
    if isinstance(column, CategoricalColumn):
        return column.codes
    _, places = np.unique(column.values, return_inverse=True)
    if places.max(initial=0) < GROUPS:
        return places.astype(np.intp)
    edges = np.quantile(column.values, np.arange(1, GROUPS) / GROUPS)
    return np.searchsorted(edges, column.values, side="left").astype(np.intp)


MOST = 1_500
"""The maximum number of records drawn; from a larger table, evenly spaced records are drawn."""

WIDE, HIGH = 2.9, 2.45
"""The width and the height of a scatter plot, in inches."""

_GOLDEN = 0.618033988749895
"""The golden ratio; fractional parts of its multiples spread the records of a category evenly."""

_LABELS = 8
"""The maximum number of category labels on an axis; of more, every second, third, ... is drawn."""

_LONGEST = 26


def relationships_chart(versions: Sequence[tuple[str, MixedTable]], pairs: Sequence[Pair]) -> Chart:
    """Return a chart with a column for each relationship and a row for each version."""

    def draw(axes: Sequence[Axes]) -> None:
        for row, (name, table) in enumerate(versions):
            for place, (across, up) in enumerate(pairs):
                axis = axes[row * len(pairs) + place]
                cloud(axis, table[across], table[up], colour_of(row), MARKS[row % len(MARKS)])
                axis.set_title(name if place == 0 else "", fontsize=10, parse_math=False)
                axis.set_ylabel(_cut(up), fontsize=9, parse_math=False)
                last = row == len(versions) - 1
                axis.set_xlabel(_cut(across) if last else "", fontsize=9, parse_math=False)
                axis.tick_params(labelsize=8)
        for place in range(len(pairs)):
            share([axes[row * len(pairs) + place] for row in range(len(versions))])

    size = (0.4 + WIDE * len(pairs), 0.5 + HIGH * len(versions))
    parts = len(versions) * len(pairs)
    title = "Relationships: " + ", ".join(name for name, _ in versions)
    return Chart(title, "relationships", size, draw, parts=parts, columns=len(pairs))


MARKS = "o^sDvPX"


def colour_of(row: int) -> str:
    """Return the colour of a version; version 0, the original table, is grey."""
    colours = (plots.GREY, plots.BLUE, plots.GREEN, plots.PURPLE, plots.RED, plots.ORANGE)
    return colours[row % len(colours)]


def cloud(axis: Axes, across: Column, up: Column, colour: str, mark: str = "o") -> None:
    """Draw records as dots and, as a line, the means of groups of records."""
    x, y = _numbers(across), _numbers(up)
    chosen = np.unique(np.linspace(0, len(x) - 1, min(len(x), MOST)).astype(int))
    shown = x + _spread(across, len(x))
    axis.scatter(
        shown[chosen], y[chosen], s=5, marker=mark, color=colour, alpha=0.45, linewidths=0,
        rasterized=True,
    )  # fmt: skip
    centres, means = trend(across, y)
    axis.plot(centres, means, color="white", linewidth=3.4)
    axis.plot(centres, means, color=plots.BLACK, linewidth=1.6)
    _name_categories(axis, across)


def trend(across: Column, values: Floats) -> tuple[Floats, Floats]:
    """Return the means of both columns in the groups of the horizontal column."""
    x, groups = _numbers(across), groups_of(across)
    sizes = np.bincount(groups)
    kept = sizes > 0
    centres = np.bincount(groups, weights=x)[kept] / sizes[kept]
    means = np.bincount(groups, weights=values)[kept] / sizes[kept]
    order = np.argsort(centres, kind="stable")
    return centres[order], means[order]


def share(axes: Sequence[Axes]) -> None:
    """Give all axes the same limits, which are wide enough for all data."""
    for which in ("x", "y"):
        ends = [getattr(axis, f"get_{which}lim")() for axis in axes]
        limits = min(low for low, _ in ends), max(high for _, high in ends)
        for axis in axes:
            getattr(axis, f"set_{which}lim")(*limits)


def _numbers(column: Column) -> Floats:
    if isinstance(column, CategoricalColumn):
        return column.codes.astype(np.float64)
    return column.values


def _spread(column: Column, records: int) -> Floats:
    if not isinstance(column, CategoricalColumn):
        return np.zeros(records)
    shares = np.arange(1, records + 1, dtype=np.float64) * _GOLDEN % 1.0
    return np.asarray((shares - 0.5) * 0.6, dtype=np.float64)


def _name_categories(axis: Axes, column: Column) -> None:
    if not isinstance(column, CategoricalColumn):
        return
    step = -(-len(column.categories) // _LABELS)
    places = range(0, len(column.categories), step)
    axis.set_xticks(list(places), [_cut(column.categories[k]) for k in places], parse_math=False)


def _cut(words: str) -> str:
    from pramana_core.pictures.svg import short

    return short(words, _LONGEST)
