"""Tables for people: what a plan costs, what was found wrong, what left."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from owner_agent.costs.measures import ALARMING, POSTERIOR, number
from owner_agent.costs.study_display import show_study
from owner_agent.departures.composition import renamed, spent
from owner_agent.departures.ledger import Entry
from owner_agent.release.publish import Outcome, Watch
from owner_agent.report.contents import BlockReport, VariableReport
from owner_agent.report.report import (
    LISTED_CHOICES,
    PlanReport,
    Tick,
    shares_reported,
)
from shared.pictures.svg import short
from shared.privacy import PRIOR

PATIENCE = 2.0
"""Seconds after which somebody who waits is told how far it is."""

_BLOCK_NAME = 16
"""So much of a block's name stands beside each of its variables."""

STAGES = {"pseudonyms": "computing pseudonyms", "parts": "uploading parts"}


def show_plan(console: Console, plan: PlanReport) -> None:
    """Print the essentials of a plan's report."""
    title = f"What the plan reveals, and its errors at {plan.records:,} records"
    table = Table(title=title, box=SIMPLE_HEAD, padding=(0, 1), pad_edge=False, show_edge=False)
    table.add_column("variable", overflow="fold")
    table.add_column("channel", overflow="fold")
    grows = f"block alone:\n{PRIOR:.0%} grows to"
    for heading in ("gamma", "epsilon", grows, "best guess", "95% ±"):
        table.add_column(heading, justify="right")
    for row in plan.variables:
        table.add_row(*_plan_row(row), style=None if row.sensitive else "dim")
    console.print(table)
    console.print(
        "gamma bounds how much more likely a report is under one truth than under another; epsilon"
        f" is its logarithm. A belief of {PRIOR:.0%} in a statement about a variable grows to so"
        " much at most by the report of its own block alone; other blocks may tell of it too. The"
        " best guess is right so often without and with that report, for an attacker who believes"
        f" {_believed(plan)}. The last column is half the 95% interval of the worst proportion.",
        style="dim",
    )
    if any(math.isinf(row.bounds.told.gamma) for row in plan.variables):
        console.print("∞: some report proves that some category is not the true one.", style="dim")
    _show_together(console, plan)
    show_study(console, plan.study)
    show_warnings(console, plan.warnings)


def _plan_row(row: VariableReport) -> tuple[RenderableType, ...]:
    bounds, accuracy = row.bounds, row.attack.accuracy
    shared = f"\n(with {short(row.block, _BLOCK_NAME)})" if row.block != row.name else ""
    grouped = math.isinf(bounds.told.gamma) and math.isfinite(bounds.gamma_within)
    within = f"\n({number(bounds.gamma_within)} in group)" if grouped else ""
    return (
        escape(row.name + ("" if row.sensitive else " (public)") + shared),
        escape(row.channel),
        number(bounds.told.gamma) + within,
        number(bounds.told.epsilon),
        Text(f"{bounds.rho2:.1%}", _severity(bounds.rho2) if row.sensitive else ""),
        "-" if accuracy is None else f"{accuracy.blind:.0%} → {accuracy.expected:.0%}",
        "-" if row.half_width is None else f"{row.half_width:.2%}",
    )


def _severity(posterior: float) -> str:
    if posterior >= ALARMING:
        return "bold red"
    return "yellow" if posterior >= POSTERIOR else "green"


def _believed(plan: PlanReport) -> str:
    given = len(plan.assumed.priors)
    return f"the given priors of {given} variables" if given else "all categories equally likely"


def _show_together(console: Console, plan: PlanReport) -> None:
    told = plan.together.told
    if any(block.sensitive for block in plan.blocks):
        console.print(
            f"All sensitive variables of a record together: gamma {told.written_gamma},"
            f" epsilon {number(told.epsilon)}; {PRIOR:.0%} grows to"
            f" {told.grown(PRIOR):.1%}, however their values go together."
        )
    for block in plan.blocks:
        if block.choices:
            _show_choices(console, plan, block)
    before = [] if plan.losses is None else [c for c in plan.losses.columns if c.before]
    for line in () if plan.corrected is None else plan.corrected.lines():
        console.print(line, style="bold yellow", markup=False)
    for loss in before:
        refused = "; publish refuses it unless you accept the loss" if loss.refused else ""
        console.print(
            f"{loss.column} left before: epsilon {number(loss.before)}, after this plan"
            f" {number(loss.after)}{refused}.",
            style="bold yellow" if loss.refused else None,
            markup=False,
        )


def _show_choices(console: Console, plan: PlanReport, block: BlockReport) -> None:
    """Print the first parts of a sampled block, and how many records report each variable."""
    for choice in block.choices[:LISTED_CHOICES]:
        console.print(
            f"{choice.probability:.1%} of the records report {', '.join(choice.variables)}.",
            markup=False,
        )
    more = len(block.choices) - LISTED_CHOICES
    if more > 0:
        console.print(f"... and {more:,} more such parts; --json has all.")
        console.print(shares_reported(plan, block), markup=False)


def show_written(console: Console, path: Path) -> None:
    """Print where a report was written, as short as it can be said."""
    inside = path.is_relative_to(Path.cwd())
    console.print("The whole report is in")
    shown = path.relative_to(Path.cwd()) if inside else path
    console.print(Text(str(shown), overflow="fold", no_wrap=False))


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
    if outcome.renewed:
        console.print(
            f"All records of {', '.join(outcome.renewed)} were drawn anew; the ledger has the added"
            " epsilon.",
            markup=False,
            soft_wrap=True,
        )
    if outcome.stale:
        console.print(
            f"{outcome.stale:,} records keep the report of a value that was corrected since.",
            markup=False,
            soft_wrap=True,
        )


def inconsistency(outcome: Outcome) -> list[str]:
    """Return the warning that a release does not fit its plan, if the miner says so."""
    said = outcome.consistency
    if said is None or said.state != "inconsistent" or said.p_value is None:
        return []
    # The estimators come with it, and no other command needs them.
    from shared.estimation.plausibility.plausibility import RATE

    found = (
        f"the miner finds that the reports of {', '.join(said.variables)} do not fit the transition"
        f" matrices they were sent with (p = {said.p_value:.2g}). Of releases made by their plan at"
        f" most one in {1 / RATE:,.0f} looks so. Another version of the agent may have made this"
        " one, with other matrices than it declares, or a column may have been sent as it was. The"
        " release is sealed, and whoever uses it is warned; withdraw it if you find the cause."
    )
    return [found]


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
    for column, others in renamed(entries).items():
        console.print(
            f"{escape(column)} has the values of {escape(', '.join(others))}: one secret, whose"
            " losses add.",
            soft_wrap=True,
        )


@contextmanager
def progress(console: Console, stages: Mapping[str, str] = STAGES) -> Iterator[Watch]:
    """Show a bar per stage, by its description, where a person looks, and nothing elsewhere."""
    bars = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal,
    )
    tasks = {
        stage: bars.add_task(text, total=None, visible=False) for stage, text in stages.items()
    }

    def watch(stage: str, done: int, total: int) -> None:
        bars.update(tasks[stage], completed=done, total=total, visible=True)

    with bars:
        yield watch


@contextmanager
def patient_progress(
    console: Console, doing: str, clock: Callable[[], float] = time.monotonic
) -> Iterator[Tick]:
    """Show a bar where a person looks and the work has taken longer than `PATIENCE` seconds."""
    started = clock()
    bar = Progress(
        TextColumn(doing),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    task = bar.add_task("", total=None)

    def tick(done: int, total: int) -> None:
        if clock() - started > PATIENCE:
            bar.start()
        bar.update(task, completed=done, total=total)

    try:
        yield tick
    finally:
        bar.stop()
