"""How the report of a masked table is shown: with true values as pictures, on the page alone.

Also here:

* Pictures of relationships, true and masked: for the owner's eyes alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from owner_agent.release.masked import PreparedMask
from owner_agent.report.masked import MaskReport
from owner_agent.report.page import Shown, measured
from owner_agent.report.releases import printing
from pramana_core.mask.core.cautions import Caution, Gravity, gravest_first, gravity_of
from pramana_core.mask.pictures import explained, relationships_chart
from pramana_core.mixed.table import NumericColumn, numeric_table
from pramana_core.progress import Progress, unwatched
from pramana_core.ties import descending

# Pictures of relationships, true and masked: for the owner's eyes alone.

MOST_PICTURES, PER_ROW = 8, 4
"""So many relationships are drawn, those first that tell most of a confidential column, and so many
of them beside each other."""


@dataclass(frozen=True)
class RelationshipPicture:
    """Some relationships beside each other, the true records above and the masked ones below."""

    about: str
    svg: str


def relationship_pictures(
    made: PreparedMask, tick: Progress = unwatched
) -> tuple[RelationshipPicture, ...]:
    """Draw the strongest relationships of confidential columns, original and masked.

    Args:
        made: the table, masked.
        tick: told of each picture.
    """
    told, true = made.chosen.table.told, made.chosen.table.confidential
    masked = numeric_table(true.names, made.copies[0].matrix)
    versions = [("original", told.beside(true)), ("masked", told.beside(masked))]
    pairs = [
        (across, up)
        for place, up in enumerate(true.columns)
        if isinstance(up, NumericColumn)
        for across in (*told.columns, *true.columns[:place])
    ]
    order = descending([explained(up.values, across) for across, up in pairs], scale=1.0)
    chosen = [(pairs[place][0].name, pairs[place][1].name) for place in order[:MOST_PICTURES]]
    rows = [chosen[start : start + PER_ROW] for start in range(0, len(chosen), PER_ROW)]
    pictures = []
    for done, row in enumerate(rows):
        tick(done, len(rows))
        about = ", ".join(f"{up} over {across}" for across, up in row)
        chart = replace(relationships_chart(versions, row), salt=f"mask-{done}")
        pictures.append(RelationshipPicture(about, chart.svg()))
    tick(len(rows), len(rows))
    return tuple(pictures)


def _drawn(report: MaskReport, tick: Progress) -> dict[str, Any]:
    """Return what the page shows besides the report's numbers: true values, as pictures."""
    return {
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
        "± is a standard error over records. The report and --json have all measures.",
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
