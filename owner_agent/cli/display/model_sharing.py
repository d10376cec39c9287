"""What people see of a tree that would leave, and of its release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from owner_agent.cli.display.releases import show_warnings
from owner_agent.model_sharing.drawings import tree_text

if TYPE_CHECKING:
    from owner_agent.model_sharing.publishing import ShareOutcome
    from owner_agent.model_sharing.report import TreeReport

MOST_LINES = 24
"""So many lines of a tree are printed; the report has more."""


def show_tree_report(console: Console, loud: Console, report: TreeReport) -> None:
    """Print what would be released, what was given up for it, and what it promises.

    Args:
        console: where it is printed.
        loud: where what must not be overlooked is printed, too.
        report: what is printed.
    """
    made = report.now.made
    chosen = made.chosen
    console.print(
        f"{chosen.records:,} records: a tree of {chosen.schema.target.name} from"
        f" {', '.join(chosen.schema.names)}; {made.method}.",
        markup=False,
        soft_wrap=True,
    )
    for said in report.alarms:
        loud.print(f"WARNING: {said}", style="bold white on red", markup=False, soft_wrap=True)
    show_warnings(console, report.cautions)
    for said in made.message.protection:
        console.print(f"* {said}", markup=False, soft_wrap=True)
    _show_figures(console, report)
    if report.before is not None and made.grown is not None:
        _show_tree(console, "With nothing required", tree_text(made.grown, MOST_LINES))
    _show_tree(console, "What would leave", tree_text(made.tree, MOST_LINES))
    for loss in report.earlier:
        console.print(
            f"{loss.column} left before: epsilon {loss.texts[0]}, after this {loss.texts[1]}.",
            markup=False,
            soft_wrap=True,
        )


def _show_figures(console: Console, report: TreeReport) -> None:
    """Print the tree before and after it was cut back, and what that cost."""
    trees = [("nothing required", report.before), ("would leave", report.after)]
    table = Table(box=SIMPLE)
    table.add_column("")
    known = [(title, tree) for title, tree in trees if tree is not None]
    for title, _ in known:
        table.add_column(title, justify="right")
    rows = (
        ("paths", [f"{tree.leaves:,}" for _, tree in known]),
        ("questions on the longest way", [f"{tree.depth:,}" for _, tree in known]),
        ("your records on the smallest path", [f"{tree.smallest:,}" for _, tree in known]),
        ("class told rightly, of your records", [f"{tree.accuracy:.1%}" for _, tree in known]),
    )
    for what, cells in rows:
        table.add_row(what, *cells)
    console.print(table)
    console.print(
        f"Always telling the most frequent class would be right for {report.majority:.1%}.",
        soft_wrap=True,
    )
    given = report.given_up
    if given is not None and report.before is not None:
        merged = given["records_on_merged_paths"]
        moved = f"; {merged:,} records are on paths that were merged" if merged else ""
        console.print(
            f"With nothing required, {given['paths_that_did_not_meet_it']:,} of"
            f" {report.before.leaves:,} paths would not meet the requirement{moved}.",
            soft_wrap=True,
        )


def _show_tree(console: Console, title: str, text: str) -> None:
    console.print(title, style="bold")
    for line in text.splitlines():
        console.print(f"  {line}", markup=False, no_wrap=True, overflow="ellipsis")


def show_share_outcome(console: Console, outcome: ShareOutcome) -> None:
    """Print what a publication ended with."""
    done = "is already sealed; nothing was sent" if outcome.already else "is sealed"
    console.print(
        f"Release {outcome.name} {done}: a tree of {outcome.leaves:,}"
        f" path{'' if outcome.leaves == 1 else 's'}, {outcome.method}, digest"
        f" {outcome.digest[:12]}.",
        markup=False,
        soft_wrap=True,
    )
    if not outcome.asked:
        console.print(
            "Its folder was removed from the outbox, so the miner was not asked whether it still"
            " has the release, and could not get it again.",
            soft_wrap=True,
        )
