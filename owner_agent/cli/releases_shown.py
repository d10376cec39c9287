"""What people see of what was found wrong, and of what left."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from owner_agent.report.releases import LedgerSummary

if TYPE_CHECKING:
    from owner_agent.release.ledger import Entry
    from owner_agent.release.new_epoch import NewEpoch


def show_lines(console: Console, lines: Sequence[str]) -> None:
    """Print sentences, each on a line that may be copied."""
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)


def show_new_epoch(console: Console, begun: NewEpoch) -> None:
    """Print what a new epoch begins with, and what nobody could tell."""
    named = ", ".join(entry.name for entry in begun.counted)
    many = "" if len(begun.counted) == 1 else "s"
    asked = (
        f"Counted as published: {len(begun.counted)} release{many} that the miner has ({named})."
    )
    if not begun.counted:
        asked = "The miner has nothing that the ledger does not know."
    if not begun.asked:
        asked = "No miner was asked: this site has none, or has not joined its study."
    lines = [asked]
    if begun.losses:
        words = "; ".join(f"{c}: epsilon {loss:.4g}" for c, loss in begun.losses.items())
        lines.append(f"What is known to have left: {words}.")
    if begun.uncounted:
        lines.append(
            f"The audit log has {', '.join(begun.uncounted)} besides; what they cost is not known."
        )
    lines.append(
        "What left to peers, to other miners or in other studies, and is not in the ledger, could"
        " not be counted. From here on all records are drawn anew: `owner-agent publish` says what"
        " that adds, and --accept-added-loss accepts it."
    )
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)


def show_ledger(console: Console, entries: Sequence[Entry]) -> None:
    """Print everything that left, and what each column has lost."""
    if not entries:
        console.print("Nothing has left this site.")
        return
    summary = LedgerSummary.of(entries)
    table = Table(title="Releases")
    table.add_column("prepared (UTC)")
    table.add_column("study", overflow="fold")
    table.add_column("release", overflow="fold")
    table.add_column("state")
    table.add_column("records", justify="right")
    table.add_column("plan")
    table.add_column("variables: epsilon", overflow="fold")
    for one in summary.releases:
        table.add_row(
            f"{one.prepared:%Y-%m-%d %H:%M}",
            escape(one.study),
            one.name,
            one.state,
            f"{one.records:,}",
            escape(one.how),
            escape(", ".join(f"{name}: {loss}" for name, loss in one.draws)),
        )
    console.print(table)
    losses = Table(title="Composed epsilon of everything that may have left")
    losses.add_column("column", overflow="fold")
    losses.add_column("epsilon", justify="right")
    for column in summary.columns:
        losses.add_row(escape(column.column), column.text)
    console.print(losses)
    show_lines(console, summary.notes)


def show_written(console: Console, path: Path) -> None:
    """Print where a report was written, as short as it can be said."""
    inside = path.is_relative_to(Path.cwd())
    console.print("The whole report is in")
    shown = path.relative_to(Path.cwd()) if inside else path
    # One line, however narrow the terminal: a path in two pieces cannot be copied.
    console.print(str(shown), markup=False, soft_wrap=True)
