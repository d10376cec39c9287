"""What people see of a session: how far it is, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from owner_agent.peer.exact import Disclosure
from owner_agent.peer.exchange.session_loss import session_json, session_lines
from owner_agent.release.ledger import PEER
from pramana_core.errors import PramanaError

if TYPE_CHECKING:
    from owner_agent.peer.joint import JointOutcome
    from owner_agent.peer.session_results import SessionResult
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


def told_json(
    disclosures: Sequence[Disclosure], lost: PramanaError | None = None
) -> dict[str, Any]:
    """Return the tables that were told exactly, for scripts.

    Where the memory of them is `lost`, the list is null and the reason stands beside it.
    """
    if lost is not None:
        return {"told_exactly": None, "told_exactly_error": _reason(lost)}
    listed = [one.model_dump(mode="json", exclude={"own", "groups"}) for one in disclosures]
    return {"told_exactly": listed}


def show_lost(console: Console, lost: PramanaError) -> None:
    """Print, in place of `show_told`, that nobody knows what was disclosed exactly, and why."""
    console.print(
        f"What was disclosed exactly to peers cannot be listed ({lost.code}): {lost}",
        style="bold red",
        markup=False,
        soft_wrap=True,
    )


def show_told(console: Console, disclosures: Sequence[Disclosure], groupings: int | None) -> None:
    """Print the tables that were disclosed exactly; `groupings` are allowed in a study."""
    if not disclosures:
        return
    table = Table(title="Tables told exactly to peers", box=SIMPLE_HEAD)
    for heading in ("study", "columns", "against the peers'"):
        table.add_column(heading, overflow="fold")
    for one in disclosures:
        against = ", ".join(one.against) or "no column"
        table.add_row(escape(one.study), escape(", ".join(one.columns)), escape(against))
    console.print(table)
    allowed = "" if groupings is None else f" The site file allows {groupings} in a study."
    console.print(
        "Two tables that differ in few records tell of those records by subtraction; epsilon"
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
        table.add_row(entry.name, escape(entry.miner.removeprefix(PEER)), escape(columns or about))
    console.print(table)
    if any(families.values()):
        console.print(
            "Epsilon covers the randomized columns. It does not cover the parameters that were"
            " shared: they are made from this owner's true records.",
            markup=False,
        )
