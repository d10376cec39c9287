"""What a notebook prints of things, and the axes that pictures are drawn on.

A thing is one card of HTML that loads nothing and runs nothing; which numbers it tells, it says
itself. What a picture of a model shows is in `pramana_core.learn.*.exchange`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pramana.frames.tables import shown
from pramana_core.errors import OptionError
from pramana_core.pictures import plots
from pramana_core.pictures.plots import Chart
from pramana_core.pictures.svg import escape, short

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from pramana_core.pictures.plots import Picture

DIGITS = 12
"""The digits of a plan's digest that are shown."""

ROWS = 12
"""The most rows of a table that are shown."""

_LARGEST = 1_000_000
"""Letters of SVG that a notebook shows; in place of a larger picture it says how to draw it."""

_SHRUNK = 0.6
"""A picture is shown at least this large; if the cell is narrower still, it scrolls."""

_LONGEST = 60
"""The most letters of a cell that are shown."""

_CARD = "max-width:100%;box-sizing:border-box;line-height:1.4"
_HEAD = "font-weight:600;overflow-wrap:anywhere"
_FACTS = "border:0;color:inherit;margin:0.3em 0;border-collapse:collapse"
_FACT = "padding:0 1em 0 0;text-align:left;vertical-align:top;border:0;background:none"
_NAME = "white-space:nowrap"
_SCROLL = "max-width:100%;overflow:auto;margin:0.5em 0"
_WHITE = "background:#fff;color:#222;border:1px solid rgba(128,128,128,0.4);border-radius:4px"
_FAINT = "opacity:0.75"


def card(
    heading: str,
    facts: Iterable[tuple[str, str]],
    picture: str = "",
    table: pd.DataFrame | None = None,
    more: str = "",
) -> str:
    """Return HTML of a thing."""
    rows = "".join(
        f'<tr style="background:none"><td style="{_FACT};{_FAINT};{_NAME}">{escape(name)}</td>'
        f'<td style="{_FACT};overflow-wrap:anywhere">{escape(words)}</td></tr>'
        for name, words in facts
    )
    parts = [
        f'<div style="{_HEAD}">{escape(heading)}</div>',
        f'<table style="{_FACTS}">{rows}</table>',
        _picture(picture) if picture else "",
        "" if table is None else _table(table, more),
    ]
    return f'<div style="{_CARD}">{"".join(parts)}</div>'


def plain_text(words: str) -> str:
    """Return HTML of what has nothing to show but its words."""
    return f'<pre style="white-space:pre-wrap">{escape(words)}</pre>'


def _picture(svg: str) -> str:
    if len(svg) > _LARGEST:
        return f'<div style="{_FAINT}">The picture is large; plot() draws it.</div>'
    head, rest = svg.split(">", 1)
    width = _width(head)
    style = f"max-width:100%;min-width:{_SHRUNK * width:.0f}px;height:auto;display:block"
    return f'<div style="{_SCROLL};{_WHITE};max-height:48em">{head} style="{style}">{rest}</div>'


def _width(opening: str) -> float:
    """Return how wide a picture is, in pixels."""
    _, _, width, _ = opening.split('viewBox="')[1].split('"')[0].split()
    return float(width) * (96 / 72 if 'width="' in opening and "pt" in opening else 1)


def _table(frame: pd.DataFrame, more: str) -> str:
    shown = frame.head(ROWS).map(_cell)
    html: str = shown.to_html(
        index=not _numbered(frame), border=0, escape=True, float_format=_number, na_rep=""
    )
    note = f"{len(frame):,} rows{more and f'; {more}'}" if len(frame) > ROWS else ""
    caption = f'<div style="{_FAINT}">the first {ROWS} of {note}</div>' if note else ""
    return f'<div style="{_SCROLL};white-space:nowrap">{html}</div>{caption}'


def _numbered(frame: pd.DataFrame) -> bool:
    import pandas as pd

    return isinstance(frame.index, pd.RangeIndex)


def _cell(value: object) -> object:
    """Return a cell for display: a set as its members, long text cut."""
    if isinstance(value, frozenset):
        value = ", ".join(sorted(map(str, value)))
    return short(value, _LONGEST) if isinstance(value, str) else value


def _number(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:,.1f}"


MOST = 40
"""Of more rows a chart shows the first."""

_PALE = 0.55

_CATEGORY = "="
"""Stands between a variable and its category."""


def counts_chart(frame: pd.DataFrame, names: Sequence[str], between: str = ", ") -> Chart:
    """Return a chart of a table's cells, a row each: the count and its interval.

    The thick line is the estimate with one standard error given these records to each side, the
    noise of randomization alone; the thin one the interval against the population.
    """
    shown = frame.head(MOST)
    value = "share" if "share" in frame.columns else "count"
    labels = [between.join(map(str, row)) for row in shown[list(names)].to_numpy(dtype=object)]
    numbers = shown[[value, "se_records", "low", "high"]].to_numpy(dtype=float)
    notes = [_count(number) if value == "count" else f"{number:.3f}" for number in numbers[:, 0]]

    def draw(axes: Sequence[Axes]) -> None:
        (axis,) = axes
        plots.rows(axis, labels, notes)
        for row, (estimate, noise, low, high) in enumerate(numbers):
            words = f"{labels[row]}: {notes[row]} ({_count(low)} to {_count(high)})"
            if noise > 0:
                ends = [estimate - noise, estimate + noise]
                axis.plot(ends, [row] * 2, color=plots.BLUE, linewidth=6, alpha=0.35)
            plots.interval(axis, row, estimate, (low, high), words)
        axis.axvline(0.0, color="#555555", linewidth=1)
        axis.set_xlabel(
            f"{value}\nline: interval against the population; band: the noise alone, one standard"
            " error",
            fontsize=9,
        )
        axis.set_title(heading, parse_math=False)

    cut = f": the first {MOST} of {len(frame):,} cells" if len(frame) > MOST else ""
    of = "of each variable" if between == _CATEGORY else f"by {', '.join(names)}"
    heading = f"Estimated {value}s {of}{cut}"
    width, height = plots.size_of(labels, notes)
    return Chart(heading, "counts", (width, height), draw)


def privacy_chart(frame: pd.DataFrame, whole: float) -> Chart:
    """Return a chart of the epsilon of each variable's block, and of the whole record."""
    names = [*map(str, frame.index[:MOST]), "whole record"]
    values = [*map(float, frame["epsilon"].iloc[:MOST]), whole]
    finite = [value for value in values if math.isfinite(value)]
    most = max(finite, default=0.0) or 1.0
    kept = dict(zip(names, map(str, frame["channel"].iloc[:MOST]), strict=False))
    notes = [
        f"{_in_digits(v)}  {kept.get(n, '')}".strip() for n, v in zip(names, values, strict=True)
    ]

    def draw(axes: Sequence[Axes]) -> None:
        (axis,) = axes
        plots.rows(axis, names, notes)
        for row, value in enumerate(values):
            ends = math.isfinite(value)
            colour = plots.BLUE if row < len(values) - 1 else plots.BLACK
            (bar,) = axis.barh(
                row, value if ends else 1.15 * most, 0.6, color=colour if ends else plots.RED,
                alpha=1.0 if ends else _PALE, hatch="" if ends else "//",
            )  # fmt: skip
            plots.entitle(bar, f"{names[row]}: epsilon {notes[row]}")
        axis.set_xlim(0, 1.15 * most)
        unbounded = "; hatched: no bound" if len(finite) < len(values) else ""
        axis.set_xlabel(f"epsilon{unbounded}", fontsize=9)
        axis.set_title(heading, parse_math=False)

    heading = "What one record tells"
    width, height = plots.size_of(names, notes)
    return Chart(heading, "privacy", (width, height), draw)


def families_chart(frame: pd.DataFrame) -> Chart:
    """Return a chart of a design's families: the loss of each, by which they are ranked."""
    able = frame[frame["error"].notna()]
    names = list(map(str, able["family"]))
    losses = list(map(float, able["loss"]))
    chosen = list(map(bool, able["chosen"]))
    notes = [
        f"{loss:.3f}, error {100 * error:.3g} %, noise leaves {100 * kept:.0f} %"
        for loss, error, kept in zip(losses, able["error"], able["kept"], strict=True)
    ]

    def draw(axes: Sequence[Axes]) -> None:
        (axis,) = axes
        plots.rows(axis, names, notes)
        for row, (loss, one) in enumerate(zip(losses, chosen, strict=True)):
            (bar,) = axis.barh(row, loss, 0.6, color=plots.BLUE if one else plots.GREY)
            plots.entitle(bar, f"{names[row]}: {notes[row]}{' (chosen)' if one else ''}")
        axis.set_xlabel(
            "loss: 1 - correlation of associations as estimated and as they are; blue: chosen",
            fontsize=9,
        )
        axis.set_title(heading)

    heading = "Families side by side"
    return Chart(heading, "families", plots.size_of(names, notes), draw)


def _count(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 10 else f"{number:.3g}"


def _in_digits(number: float) -> str:
    return f"{number:.3g}" if math.isfinite(number) else "no bound"


def plotted(picture: Picture, ax: object) -> Axes:
    """Draw a picture on axes, on those of a new figure if `ax` is None, and return them."""
    from matplotlib.axes import Axes

    if ax is not None and not isinstance(ax, Axes):
        raise OptionError(
            f"ax must be one matplotlib Axes, not {_told(ax)}; write fig, ax = plt.subplots() and"
            " pass ax, or leave it out.",
            where="ax",
        )
    return picture.on(ax)


def _told(ax: object) -> str:
    shape = getattr(ax, "shape", None)
    return f"an array of them of shape {shape}" if shape is not None else shown(ax)
