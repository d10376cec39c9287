"""What people see of a masked table, and of its release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from owner_agent.cli.display.releases import show_warnings
from owner_agent.masking.page import measured
from owner_agent.masking.words import LETTERS

if TYPE_CHECKING:
    from owner_agent.masking.publishing import MaskOutcome
    from owner_agent.masking.report import MaskReport

SHOWN = ("snooper-gain-kernel", "linkage-among-alike", "linkage", "told-largest")
"""The measures that are printed though nothing is wrong."""


def show_mask_report(console: Console, report: MaskReport) -> None:
    """Print what would be released, what protects it, and what it gives away."""
    chosen = report.made.chosen
    method, told = chosen.choice.method, ", ".join(chosen.table.told.names) or "nothing"
    how = "recommended for this table" if chosen.choice.recommendation else "named in the site file"
    copies = f", {chosen.copies} copies" if chosen.copies > 1 else ""
    console.print(
        f"{len(chosen.keys):,} records: {', '.join(chosen.table.confidential.names)} masked by"
        f" {method.name} ({how}{copies}); told as they are: {told}.",
        markup=False,
        soft_wrap=True,
    )
    advice = chosen.choice.recommendation
    console.print(method.keeps if advice is None else advice.sentence, markup=False, soft_wrap=True)
    show_warnings(console, report.cautions)
    for said in report.protection:
        console.print(f"* {said}", markup=False, soft_wrap=True)
    _show_judged(console, report)
    if report.leverage is not None:
        console.print(
            f"Largest weight of a record's own true value in its masked one: {report.leverage:.3g}."
            " The page names the records of which most is told.",
            markup=False,
            soft_wrap=True,
        )
    for loss in report.earlier:
        console.print(
            f"{loss.column} left before: epsilon {loss.texts[0]}, after this {loss.texts[1]}.",
            markup=False,
            soft_wrap=True,
        )


def _show_judged(console: Console, report: MaskReport) -> None:
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


def show_masked_outcome(console: Console, outcome: MaskOutcome) -> None:
    """Print what a publication ended with."""
    done = "is already sealed; nothing was sent" if outcome.already else "is sealed"
    console.print(
        f"Release {outcome.name} {done}: {outcome.records:,} records masked by {outcome.method} in"
        f" {outcome.parts} part{'s' if outcome.parts > 1 else ''}, digest {outcome.digest[:12]}.",
        markup=False,
        soft_wrap=True,
    )
    if not outcome.asked:
        console.print(
            "Its folder was removed from the outbox, so the miner was not asked whether it still"
            " has the release, and could not get it again.",
            soft_wrap=True,
        )
