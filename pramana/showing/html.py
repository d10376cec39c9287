"""What a notebook shows of a thing: one card of HTML that loads nothing and runs nothing.

Words have the notebook's own colour and lines a grey that is seen on light and dark alike; pictures
stand on white. Whatever a label holds is text.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pramana_core.pictures.svg import escape, short

if TYPE_CHECKING:
    import pandas as pd

DIGITS = 12
"""So much of a plan's digest is shown."""

ROWS = 12
"""Of a longer table so many rows are shown."""

_LARGEST = 1_000_000
"""Letters of SVG that a notebook shows; in place of a larger picture it says how to draw it."""

_SHRUNK = 0.6
"""A picture is shown at least this large; if the cell is narrower still, it scrolls."""

_LONGEST = 60
"""So many letters of a cell are shown."""

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
    """Return HTML of a thing.

    Args:
        heading: what it is.
        facts: what is known of it, a name and words each.
        picture: SVG of our own.
        table: its main numbers; the first `ROWS` rows are shown.
        more: where all rows are, in words.
    """
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


def plain(words: str) -> str:
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
    told = f'<div style="{_FAINT}">the first {ROWS} of {note}</div>' if note else ""
    return f'<div style="{_SCROLL};white-space:nowrap">{html}</div>{told}'


def _numbered(frame: pd.DataFrame) -> bool:
    import pandas as pd

    return isinstance(frame.index, pd.RangeIndex)


def _cell(value: object) -> object:
    """Return a cell as it is shown: a set as its members, long text cut."""
    if isinstance(value, frozenset):
        value = ", ".join(sorted(map(str, value)))
    return short(value, _LONGEST) if isinstance(value, str) else value


def _number(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:,.1f}"
