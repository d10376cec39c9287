"""What people see of a session: how far it is, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from owner_agent.peer.exchange.session_loss import session_json, session_lines
from owner_agent.release.ledger import PEER

if TYPE_CHECKING:
    from owner_agent.peer.exchange.session_record import ExactTable, SessionRecord
    from owner_agent.peer.joint import JointOutcome
    from owner_agent.release.ledger import Entry

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
        "privacy": session_json(outcome.loss),
    }


def show_outcome(console: Console, outcome: JointOutcome) -> None:
    """Print what a session found, and where it is."""
    console.print(f"The result is in {outcome.folder}:", markup=False, soft_wrap=True)
    for path in sorted(outcome.folder.iterdir()):
        console.print(f"  {path.name}", markup=False)
    for line in session_lines(outcome.loss):
        console.print(line, markup=False, soft_wrap=True)
    for name in outcome.unconfirmed:
        console.print(
            f"{name} did not confirm that it wrote the result. It will ask the others when the"
            " session's time is over; if it was stopped, give it the files.",
            style="bold yellow",
            markup=False,
        )


def shared_json(sessions: Sequence[SessionRecord], tables: Sequence[ExactTable]) -> dict[str, Any]:
    """Return the families whose parameters were shared, and the tables behind them."""
    families = [
        {
            "session": one.proposal.session,
            "participants": one.proposal.participants,
            "families": [family.model_dump() for family in one.families],
        }
        for one in sessions
        if one.families
    ]
    listed = [one.model_dump(mode="json", exclude={"own", "groups"}) for one in tables]
    return {"parameters_shared": families, "tables_shared": listed}


def show_tables(console: Console, tables: Sequence[ExactTable], groupings: int | None) -> None:
    """Print the tables that were shared exactly; `groupings` are allowed in a study."""
    if not tables:
        return
    table = Table(title="Tables shared exactly with peers", box=SIMPLE_HEAD)
    for heading in ("study", "columns", "against the peers'"):
        table.add_column(heading, overflow="fold")
    for one in tables:
        against = ", ".join(one.against) or "no column"
        table.add_row(escape(one.study), escape(", ".join(one.columns)), escape(against))
    console.print(table)
    allowed = "" if groupings is None else f" The site file allows {groupings} in a study."
    console.print(
        "Two tables that differ in few records reveal those records by subtraction; epsilon"
        f" does not cover it.{allowed}",
        style="dim",
    )


def show_peer_lines(
    console: Console, entries: Sequence[Entry], sessions: Sequence[SessionRecord] = ()
) -> None:
    """Print what went to which peers; `sessions` have the shared parameters."""
    sent = [entry for entry in entries if entry.miner.startswith(PEER)]
    if not sent:
        return
    table = Table(title="Of these, to peers", box=SIMPLE_HEAD)
    table.add_column("release", overflow="fold")
    table.add_column("to", overflow="fold")
    table.add_column("columns", overflow="fold")
    families = {one.proposal.session: "; ".join(map(str, one.families)) for one in sessions}
    for entry in sent:
        columns = ", ".join(draw.column for draw in entry.draws)
        learned = families.get(entry.release_id or "")
        about = f"its offer, and the parameters of {learned}" if learned else "its offer"
        table.add_row(entry.name, escape(entry.miner.removeprefix(PEER)), escape(columns or about))
    console.print(table)
    if any(families.values()):
        console.print(
            "Epsilon covers the randomized columns. It does not cover the parameters that were"
            " shared: they are made from this owner's true records.",
            markup=False,
        )
