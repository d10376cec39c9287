"""What people see of a session: how far it is, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from owner_agent.cli.results_shown import show_results
from owner_agent.peer.asked import AskedSession, revealed
from owner_agent.peer.exchange.costs import session_json, session_lines
from owner_agent.peer.memory import Disclosure, all_groupings, distinct, of_column
from owner_agent.peer.told import told_columns
from owner_agent.release.ledger import PEER
from pramana_core.errors import PramanaError

if TYPE_CHECKING:
    from owner_agent.peer.joint import JointOutcome
    from owner_agent.peer.session import SessionResult
    from owner_agent.release.ledger import Entry
    from owner_agent.site.site import Site

STEPS = {
    "offers": "asking the owners to take part",
    "announcements": "randomizing",
    "checks": "checking what was announced",
    "start": "starting",
    "learning": "learning",
    "networks": "joining the parts",
    "writing": "writing",
}


def outcome_json(outcome: JointOutcome) -> dict[str, Any]:
    """Return a session's outcome for scripts; the network itself is in the files."""
    return {
        "session": outcome.session,
        "digest": outcome.digest,
        "folder": str(outcome.folder),
        "files": sorted(path.name for path in outcome.folder.iterdir()),
        "unconfirmed": list(outcome.unconfirmed),
        "privacy": session_json(outcome.told),
    }


def show_outcome(console: Console, outcome: JointOutcome) -> None:
    """Print what a session found, and where it is."""
    show_results(console, outcome.folder)
    console.print(f"The result is in {outcome.folder}:", markup=False, soft_wrap=True)
    for path in sorted(outcome.folder.iterdir()):
        console.print(f"  {path.name}", markup=False)
    for line in session_lines(outcome.told):
        console.print(line, markup=False, soft_wrap=True)
    for name in outcome.unconfirmed:
        console.print(
            f"{name} did not confirm that it wrote the result. It will ask the others when the"
            " session's time is over; if it was stopped, give it the files.",
            style="bold yellow",
            markup=False,
        )


def asked_json(site: Site, asked: AskedSession) -> dict[str, Any]:
    """Return a session that waits for the custodian, for scripts, and what a yes would reveal.

    Where the site file is wrong `reveals` is null, and the reason stands beside it.
    """
    told: dict[str, Any]
    try:
        told = {"reveals": revealed(site, asked.proposal)}
    except PramanaError as error:
        told = {"reveals": None, "reveals_error": _reason(error)}
    return {
        "key": asked.key,
        "asked": asked.asked.isoformat(),
        "decision": asked.decision,
        "proposal": asked.proposal.model_dump(mode="json"),
        **told,
    }


def show_asked(console: Console, site: Site, asked: Sequence[AskedSession]) -> None:
    """Print the sessions that wait for the custodian, and what a yes to each would reveal."""
    if not asked:
        console.print("No session waits for your yes.")
    for one in asked:
        told = one.proposal
        console.print(
            f"{one.key[:12]}  {told.task.kind}, proposed by {told.initiator} to"
            f" {', '.join(told.others(told.initiator))}, {one.asked:%Y-%m-%d %H:%M} UTC:"
            f" {one.decision}",
            markup=False,
            soft_wrap=True,
        )
        try:
            lines = revealed(site, told)
        except PramanaError as error:
            # The other sessions are shown, and what was decided just now has been kept.
            lines = [f"What a yes would reveal cannot be said ({error.code}): {error}"]
        for line in lines:
            console.print(f"  {line}", markup=False, soft_wrap=True)


def _reason(error: PramanaError) -> dict[str, Any]:
    return {"code": error.code, "message": error.message, "remedy": error.remedy}


def shared_json(kept: Sequence[SessionResult]) -> list[dict[str, Any]]:
    """Return the families whose parameters were shared, by session, for scripts."""
    return [
        {
            "session": one.proposal.session,
            "participants": one.proposal.participants,
            "families": [family.model_dump() for family in one.families],
        }
        for one in kept
        if one.families
    ]


def told_json(told: Sequence[Disclosure], lost: PramanaError | None = None) -> dict[str, Any]:
    """Return the tables that were told exactly, for scripts; `part_of_another` adds nothing.

    Where the memory of them is `lost`, the list is null and the reason stands beside it.
    """
    if lost is not None:
        return {"told_exactly": None, "told_exactly_error": _reason(lost)}
    counted = {id(one) for one in told for one in distinct(of_column(told, one))}
    listed = [
        {
            "study": one.study,
            "column": one.column,
            "variable": one.variable,
            "against": one.names,
            "session": one.session,
            "told": one.told.isoformat(),
            "part_of_another": id(one) not in counted,
        }
        for one in told
    ]
    return {"told_exactly": listed}


def show_lost(console: Console, lost: PramanaError) -> None:
    """Print, in place of `show_told`, that nobody knows what was disclosed exactly, and why."""
    console.print(
        f"What was disclosed exactly to peers cannot be listed ({lost.code}): {lost}",
        style="bold red",
        markup=False,
        soft_wrap=True,
    )


def show_told(console: Console, told: Sequence[Disclosure], groupings: int | None) -> None:
    """Print by how many groupings each column was disclosed exactly; `groupings` are allowed."""
    if not told:
        return
    table = Table(title="Columns told exactly to peers, by groupings of records", box=SIMPLE_HEAD)
    table.add_column("study", overflow="fold")
    table.add_column("column", overflow="fold")
    table.add_column("groupings", justify="right")
    table.add_column("against the peers'", overflow="fold")
    for one in told_columns(told):
        table.add_row(escape(one.study), escape(one.column), str(one.groupings), escape(one.words))
    console.print(table)
    for study in dict.fromkeys(one.study for one in told):
        every = len(all_groupings(told, study))
        line = f"All columns together in study {study}: {every} grouping{'s' * (every > 1)}."
        console.print(line, markup=False)
    allowed = "" if groupings is None else f" The site file allows {groupings}."
    console.print(
        "Two groupings that differ in few records tell of those records by subtraction; epsilon"
        f" does not cover it.{allowed}",
        style="dim",
    )


def show_peer_lines(
    console: Console, entries: Sequence[Entry], kept: Sequence[SessionResult] = ()
) -> None:
    """Print what the ledger says went to peers, and to whom; `kept` tells of shared parameters."""
    sent = [entry for entry in entries if entry.miner.startswith(PEER)]
    if not sent:
        return
    table = Table(title="Of these, to peers", box=SIMPLE_HEAD)
    table.add_column("release", overflow="fold")
    table.add_column("to", overflow="fold")
    table.add_column("columns", overflow="fold")
    families = {one.proposal.session: "; ".join(map(str, one.families)) for one in kept}
    for entry in sent:
        columns = ", ".join(draw.column for draw in entry.draws)
        learned = families.get(entry.release_id or "")
        about = f"its offer, and the parameters of {learned}" if learned else "its offer"
        if any(draw.is_noise for draw in entry.draws):
            columns = f"counts with noise: {columns}"
        table.add_row(entry.name, escape(entry.miner.removeprefix(PEER)), escape(columns or about))
    console.print(table)
    if any(families.values()):
        console.print(
            "Epsilon covers the randomized columns, and counts with noise. It does not cover the"
            " parameters that were shared without noise: they are made from this owner's true"
            " records.",
            markup=False,
        )
