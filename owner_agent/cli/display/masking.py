"""What people see of a masked table, and of its release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from owner_agent.cli.display.releases import show_warnings

if TYPE_CHECKING:
    from owner_agent.masking.publishing import MaskOutcome
    from owner_agent.masking.report import MaskReport


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
    for said in report.protection:
        console.print(f"* {said}", markup=False, soft_wrap=True)
    table = Table(title="What it gives away")
    table.add_column("measure", overflow="fold")
    table.add_column("of", overflow="fold")
    table.add_column("value", justify="right")
    table.add_column("standard error", justify="right")
    for row in report.of("security"):
        error = "" if row.error is None else f"{row.error:.2g}"
        style = "bold yellow" if row.alarm else None
        table.add_row(row.name, escape(row.about), f"{row.value:.3g}", error, style=style)
    console.print(table)
    console.print(
        "The report says each in words. Rows in colour show more than the columns told do; what a"
        " curve over those may explain has none.",
        style="dim",
        soft_wrap=True,
    )
    if report.leverage is not None:
        console.print(
            f"Largest leverage: {report.leverage:.3g}. So much does one record's own true value"
            " weigh in what is predicted of it.",
            markup=False,
            soft_wrap=True,
        )
    for loss in report.earlier:
        console.print(
            f"{loss.column} left before: epsilon {loss.texts[0]}, after this {loss.texts[1]}.",
            markup=False,
            soft_wrap=True,
        )
    show_warnings(console, report.warnings)


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
