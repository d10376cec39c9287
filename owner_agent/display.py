"""Tables for people: what a plan costs, what was found wrong, what left."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from owner_agent.composition import spent
from owner_agent.ledger import Entry
from owner_agent.publish import Outcome, Watch
from owner_agent.report import PRIOR, PlanReport, VariableReport, number

_STAGES = {"pseudonyms": "computing pseudonyms", "parts": "uploading parts"}


def show_plan(console: Console, plan: PlanReport) -> None:
    """Print the report of a plan."""
    table = Table(title=f"What the plan reveals, and its errors at {plan.records:,} records")
    table.add_column("variable", overflow="fold")
    table.add_column("channel", overflow="fold")
    for heading in ("gamma", "epsilon", f"rho_2 at {PRIOR:.0%}", "std. error"):
        table.add_column(heading, justify="right")
    for row in plan.variables:
        shared = f"\n(with {row.block})" if row.block != row.name else ""
        within = f"\n({number(row.gamma_within)} in group)" if _grouped(row) else ""
        table.add_row(
            escape(row.name + ("" if row.sensitive else " (public)") + shared),
            escape(row.channel),
            number(row.gamma) + within,
            number(row.epsilon),
            f"{row.rho2:.1%}",
            "-" if row.se is None else f"{row.se:.2%}",
        )
    console.print(table)
    console.print(
        "gamma bounds how much more likely a report is under one truth than under another; epsilon"
        f" is its logarithm. rho_2 is the most a prior belief of {PRIOR:.0%} can grow to. The"
        " standard error is the largest of any estimated proportion.",
        style="dim",
    )
    if any(math.isinf(row.gamma) for row in plan.variables):
        console.print("∞: some report proves that some category is not the true one.", style="dim")
    show_warnings(console, plan.warnings)


def show_warnings(console: Console, warnings: Sequence[str]) -> None:
    """Print what a plan's reports could prove about somebody."""
    for warning in warnings:
        console.print(f"warning: {escape(warning)}", style="bold yellow")


def show_outcome(console: Console, outcome: Outcome) -> None:
    """Print what a publication ended with."""
    done = "is already sealed; nothing was sent" if outcome.already else "is sealed"
    console.print(
        f"Release {outcome.name} {done}: {outcome.records:,} records in {outcome.parts}"
        f" part{'s' if outcome.parts > 1 else ''}, digest {outcome.digest[:12]}.",
        soft_wrap=True,
    )
    if not outcome.asked:
        console.print(
            "Its folder was removed from the outbox, so the miner was not asked whether it still"
            " has the release, and could not get it again.",
            soft_wrap=True,
        )


def show_ledger(console: Console, entries: Sequence[Entry]) -> None:
    """Print everything that left, and what each column has lost."""
    if not entries:
        console.print("Nothing has left this site.")
        return
    table = Table(title="Releases")
    table.add_column("prepared (UTC)")
    table.add_column("study", overflow="fold")
    table.add_column("release", overflow="fold")
    table.add_column("state")
    table.add_column("records", justify="right")
    table.add_column("plan")
    table.add_column("variables: epsilon", overflow="fold")
    for entry in entries:
        table.add_row(
            f"{entry.prepared:%Y-%m-%d %H:%M}",
            escape(entry.study),
            entry.name,
            entry.state,
            f"{entry.records:,}",
            entry.plan_digest[:12],
            escape(", ".join(f"{d.variable}: {number(d.epsilon)}" for d in entry.draws)),
        )
    console.print(table)
    losses = Table(title="Composed epsilon of everything that may have left")
    losses.add_column("column", overflow="fold")
    losses.add_column("epsilon", justify="right")
    for column, epsilon in spent(entries).items():
        losses.add_row(escape(column), number(epsilon))
    console.print(losses)
    console.print(
        "A record whose value was corrected between two releases may have lost the epsilon of the"
        " column once more for each correction.",
        style="dim",
    )


@contextmanager
def progress(console: Console) -> Iterator[Watch]:
    """Show progress bars where a person looks, and nothing elsewhere."""
    bars = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal,
    )
    tasks = {
        stage: bars.add_task(text, total=None, visible=False) for stage, text in _STAGES.items()
    }

    def watch(stage: str, done: int, total: int) -> None:
        bars.update(tasks[stage], completed=done, total=total, visible=True)

    with bars:
        yield watch


def _grouped(row: VariableReport) -> bool:
    return math.isinf(row.gamma) and math.isfinite(row.gamma_within)
