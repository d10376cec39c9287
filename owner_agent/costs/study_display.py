"""What people read of the whole study: in full beside a plan, in a few lines before publishing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from owner_agent.costs.measures import number
from owner_agent.costs.thresholds import ALARMING
from owner_agent.costs.whole_study import Left, Outlook, PeopleStatement, ToldChange
from pramana_core.privacy import NOTHING, PRIOR, Amplification


def show_study(console: Console, told: Outlook | str | None) -> None:
    """Print what the whole study tells before and after the release, or why that is not known."""
    if isinstance(told, str):
        _show_unknown(console, told)
    if not isinstance(told, Outlook):
        return
    table = Table(
        title=f"What the whole study {escape(told.study)} tells of a record, with this release",
        box=SIMPLE_HEAD,
        padding=(0, 1),
        pad_edge=False,
        show_edge=False,
    )
    table.add_column("by", overflow="fold")
    for heading in ("epsilon", "gamma", f"{PRIOR:.0%} grows to"):
        table.add_column(heading, justify="right")
    for what, change in lines(told):
        table.add_row(escape(what), *cells(change))
    console.print(table)
    console.print(
        "Before → after this release, as the miner added it up. Draws add as far as values go"
        " together, and how far that is nobody knows. Columns independent: a belief about a column"
        " grows by that column's own draws alone, here those of the column that loses most. Columns"
        " determined: each column tells all others, and the draws of all of them add.",
        style="dim",
    )
    console.print(told.forecast.after.people_said, markup=False)
    for line in budget(told):
        console.print(line, markup=False)
    for said in told.forecast.after.warnings:
        console.print(said, style="yellow", markup=False)
    _show_refusal(console, told)


def show_study_briefly(console: Console, told: Outlook | str | None) -> None:
    """Print what is told of a record over the study, and what its budget leaves."""
    if isinstance(told, str):
        _show_unknown(console, told, soft_wrap=True)
    if not isinstance(told, Outlook):
        return
    independent, determined = told.record
    console.print(told.forecast.after.people_said, markup=False, soft_wrap=True)
    console.print(
        f"With this release, all that study {told.study} tells ({owners(told)}) can turn a belief"
        f" of {PRIOR:.0%} about a record into {_told(determined)} if each column determines the"
        f" others, and into {_told(independent)} if columns tell nothing of each other.",
        markup=False,
        soft_wrap=True,
    )
    for line in budget(told):
        console.print(line, markup=False, soft_wrap=True)
    for said in told.forecast.after.warnings:
        console.print(said, style="yellow", markup=False, soft_wrap=True)


def show_people(console: Console, told: PeopleStatement | str | None) -> None:
    """Print what a study says of its people before something leaves, or why that is not known."""
    if isinstance(told, PeopleStatement):
        console.print(told.sentence, markup=False, soft_wrap=True)
    elif told is not None:
        said = f"What the study says of its owners' people is not known: {told}"
        console.print(said, style="yellow", markup=False, soft_wrap=True)


def show_left(console: Console, left: Left | None) -> None:
    """Print within what a study's budget leaves a plan was designed."""
    if left is None:
        return
    limits = {"a record": left.record, "a column": left.column}
    told = [f"{number(most)} of {what}" for what, most in limits.items() if most is not None]
    console.print(
        f"Designed within what is left in study {left.study}: epsilon {' and '.join(told)}.",
        markup=False,
    )


def left_json(left: Left | None) -> dict[str, Any]:
    """Return what a study's budget leaves, where it was asked for."""
    if left is None:
        return {}
    return {"left_in_study": {"study": left.study, "record": left.record, "column": left.column}}


def lines(told: Outlook) -> Iterator[tuple[str, ToldChange]]:
    """Yield what is told by what, in words: columns, this owner, all owners."""
    for change in told.columns:
        yield f"{change.what}, its own draws", change
    everybody = owners(told)
    for who, (independent, determined) in ((told.owner, told.own), (everybody, told.record)):
        yield f"{who}: columns independent", independent
        yield f"{who}: columns determined", determined


def cells(change: ToldChange) -> tuple[str, str, str]:
    """Return epsilon, gamma and what a belief grows to, each before and after where they differ."""
    if change.after is None:
        return "told as it is", "", ""
    return (
        _change(change, number_of),
        _change(change, lambda told: told.written_gamma),
        _change(change, grown),
    )


def budget(told: Outlook) -> Iterator[str]:
    """Yield what the study's budget is and what it leaves; nothing where there is none."""
    now, then = told.forecast.before.budget, told.forecast.after.budget
    if now.max_epsilon_record is not None and then.left_for_record is not None:
        fits = told.forecast.refused is None
        later = f", and {number(then.left_for_record)} after this release" if fits else ""
        yield (
            f"The study's budget for a record is epsilon {number(now.max_epsilon_record)}:"
            f" {number(now.left_for_record or 0.0)} of it is left{later}."
        )
    if now.max_epsilon_column is not None:
        yield f"Its budget for each column is epsilon {number(now.max_epsilon_column)}."


def alarming(told: Outlook) -> bool:
    """Whether a belief can come next to a proof by all that the study tells."""
    after = told.record[1].after
    return after is not None and after.grown(PRIOR) >= ALARMING


def number_of(told: Amplification) -> str:
    """Write an epsilon."""
    return number(told.epsilon)


def grown(told: Amplification) -> str:
    """Write what a belief of `PRIOR` grows to; nothing short of a proof is 100 %."""
    posterior = told.grown(PRIOR)
    if posterior > 0.9995:
        return f"{posterior:.0%}" if posterior == 1 else f"{min(posterior, 0.9999):.2%}"
    return f"{posterior:.1%}"


def _change(change: ToldChange, write: Callable[[Amplification], str]) -> str:
    before, after = (
        "as it is" if told is None else write(told) for told in (change.before, change.after)
    )
    return after if before == after else f"{before} → {after}"


def _told(change: ToldChange) -> str:
    """Say what a belief grows to, by how much epsilon, and how it was before."""
    now, before = change.after or NOTHING, change.before or NOTHING
    earlier = "" if now == before else f"; before: {grown(before)}, {number_of(before)}"
    return f"{grown(now)} (epsilon {number_of(now)}{earlier})"


def owners(told: Outlook) -> str:
    """Say how many owners have told something."""
    return "1 owner" if told.owners == 1 else f"{told.owners} owners"


def _show_unknown(console: Console, why: str, *, soft_wrap: bool = False) -> None:
    console.print(
        f"What this release comes to with the whole study is not known: {why}",
        style="yellow",
        markup=False,
        soft_wrap=soft_wrap,
    )


def _show_refusal(console: Console, told: Outlook) -> None:
    if told.forecast.refused is not None:
        console.print(
            f"The miner would refuse this release. {told.forecast.refused}",
            style="bold red",
            markup=False,
        )
