"""How the report of a masked table is shown: with true values as pictures, on the page alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from owner_agent.release.masked import LETTERS, PreparedMask
from owner_agent.report.masked import MaskReport
from owner_agent.report.page import Shown, measured
from owner_agent.report.releases import printing
from pramana_core.mask.core.cautions import Caution, Gravity, gravest_first, gravity_of
from pramana_core.mixed.table import CategoricalColumn, Column, Floats, NumericColumn
from pramana_core.pictures.plots import svg
from pramana_core.pictures.svg import short
from pramana_core.progress import Progress, unwatched
from pramana_core.ties import descending

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Pictures of relationships, true and masked side by side: for the owner's eyes alone.

MOST_PICTURES = 8
"""So many relationships are drawn, those first that tell most of a confidential column."""

FEW_RECORDS = 2_000
"""Of so many records each is a dot; of more there are hexagons, darker where there are many."""

_GROUPS = 12
_ROW_OF_LETTERS = 36
"""Names of categories longer than this together overlap, unless they are turned."""
_SIZE = (8.4, 3.1)


@dataclass(frozen=True)
class RelationshipPicture:
    """One relationship, drawn twice on the same scales."""

    about: str
    svg: str


def relationship_pictures(
    made: PreparedMask, tick: Progress = unwatched
) -> tuple[RelationshipPicture, ...]:
    """Draw the strongest relationships of confidential columns, original beside masked.

    Args:
        made: the table, masked.
        tick: told of each picture.
    """
    pairs = list(_pairs(made))
    order = descending([pair.strength for pair in pairs], scale=1.0)
    chosen = [pairs[place] for place in order[:MOST_PICTURES]]
    pictures = []
    for done, pair in enumerate(chosen):
        tick(done, len(chosen))
        pictures.append(RelationshipPicture(pair.about, _picture(pair, f"mask-{done}")))
    tick(len(chosen), len(chosen))
    return tuple(pictures)


@dataclass(frozen=True, eq=False)
class _Pair:
    """A confidential column over another: the true ones, and those that would be released."""

    across: Column
    masked_across: Column
    up: NumericColumn
    masked_up: NumericColumn
    strength: float

    @property
    def about(self) -> str:
        return f"{self.up.name} over {self.across.name}"


def _pairs(made: PreparedMask) -> Iterator[_Pair]:
    table, matrix = made.chosen.table, made.copies[0].matrix
    true = [c for c in table.confidential.columns if isinstance(c, NumericColumn)]
    masked = [NumericColumn(c.name, matrix[:, place]) for place, c in enumerate(true)]
    for place, up in enumerate(true):
        for told in table.told.columns:
            yield _Pair(told, told, up, masked[place], explained(told, up.values))
        for other in range(place):
            across = true[other]
            strength = explained(across, up.values)
            yield _Pair(across, masked[other], up, masked[place], strength)


def explained(across: Column, values: Floats) -> float:
    """Return the correlation ratio: which share of a column's variance means of groups explain.

    A column of numbers is cut into groups of about as many records, so that a relationship of any
    shape counts.
    """
    if isinstance(across, CategoricalColumn):
        groups = across.codes
    else:
        edges = np.quantile(across.values, np.arange(1, _GROUPS) / _GROUPS)
        groups = np.searchsorted(edges, across.values, side="right")
    counts = np.bincount(groups)
    means = np.bincount(groups, values) / np.maximum(counts, 1)
    spread = float(np.var(values))
    return float(np.average((means - values.mean()) ** 2, weights=counts)) / spread if spread else 0


def _picture(pair: _Pair, salt: str) -> str:
    def draw(figure: Figure) -> None:
        axes = figure.subplots(1, 2, sharex=True, sharey=True)
        sides = (("original", pair.across, pair.up), ("masked", pair.masked_across, pair.masked_up))
        for axis, (title, across, up) in zip(axes, sides, strict=True):
            _cloud(axis, across, up.values)
            axis.set_title(title)
            axis.set_xlabel(across.name)
        axes[0].set_ylabel(pair.up.name)

    return svg(draw, _SIZE, salt, f"{pair.about}: original, and masked")


def _cloud(axis: Axes, across: Column, up: Floats) -> None:
    if isinstance(across, CategoricalColumn):
        found = [up[across.codes == code] for code in range(len(across.categories))]
        kept = [place for place, values in enumerate(found) if len(values)]
        axis.boxplot([found[place] for place in kept], positions=kept, showfliers=False)
        labels = [across.categories[place] for place in kept]
        crowded = sum(map(len, labels)) > _ROW_OF_LETTERS
        axis.set_xticks(kept, [short(label, 16) for label in labels])
        if crowded:
            axis.tick_params(axis="x", labelrotation=30)
            for label in axis.get_xticklabels():
                label.set_horizontalalignment("right")
    elif len(up) <= FEW_RECORDS:
        size = 5.0 if len(up) <= FEW_RECORDS // 4 else 3.0
        axis.plot(across.values, up, ".", ms=size, alpha=0.5, mew=0, rasterized=True)
    else:
        axis.hexbin(across.values, up, gridsize=36, bins="log", cmap="Blues", mincnt=1, lw=0)


def _drawn(report: MaskReport, tick: Progress) -> dict[str, Any]:
    """Return what the page shows besides the report's numbers: true values, as pictures."""
    return {
        "letters": LETTERS,
        "alarms": report.measures.alarms,
        "utility": report.of("utility"),
        "security": report.judged,
        "curves": report.curves_shown,
        "evidence": _evidence(report),
        "cautions": _cautions(report),
        "named": report.named,
        "stated": report.stated,
        "bounded": report.bounded,
        "losses": report.earlier,
        "pictures": relationship_pictures(report.now, tick),
    }


def _cautions(report: MaskReport) -> list[tuple[str, bool]]:
    """Return what the head of the page warns of, and whether it is grave; alarms stand in words in
    their table."""
    alarms = [
        Caution(f"{report.verdict} See “What it gives away”.", Gravity.GRAVE)
        for _ in report.measures.alarms[:1]
    ]
    said = gravest_first([*alarms, *report.cautions])
    return [(words, gravity_of(words) == Gravity.GRAVE) for words in said]


def _evidence(report: MaskReport) -> list[tuple[str, str, str, str]]:
    """Return a row per relationship looked at: what it is, and what lines and curves explain."""
    advice = report.now.chosen.choice.recommendation
    rows = () if advice is None else advice.evidence
    return [
        (
            row.about.replace("->", "→"),
            row.kind,
            measured(row.linear.share, row.linear.error),
            measured(row.curved.share, row.curved.error),
        )
        for row in rows
    ]


SHOWN = ("snooper-gain-kernel", "linkage-among-alike", "linkage", "told-largest")
"""The measures that are printed though nothing is wrong."""


def _details(console: Console, report: MaskReport) -> None:
    """Print what is given away: alarms, and the measures that say it best, each in words."""
    table = Table(box=SIMPLE, expand=True)
    table.add_column("of", overflow="fold", ratio=2)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("in words", ratio=7)
    for row in report.judged:
        if row.alarm or row.name in SHOWN:
            style = "bold yellow" if row.alarm else None
            value = measured(row.value, row.error)
            table.add_row(escape(row.about), value, escape(row.sentence), style=style)
    style = "bold yellow" if report.measures.alarms else "bold"
    console.print(report.verdict, style=style, soft_wrap=True)
    console.print(table)
    console.print(
        f"{LETTERS} ± is a standard error over records. The report and --json have all measures.",
        style="dim",
        soft_wrap=True,
    )
    if report.leverage is not None:
        console.print(
            f"Largest weight of a record's own true value in its masked one: {report.leverage:.3g}."
            " The page names the records that are disclosed most.",
            markup=False,
            soft_wrap=True,
        )


MASKED = Shown("mask.html", _drawn, printing(_details))
