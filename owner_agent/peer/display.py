"""What people see of a session: how far it is, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from owner_agent.ledger import Entry
from owner_agent.peer.costs import told_json, told_lines
from owner_agent.peer.joint import JointOutcome
from owner_agent.peer.journal import Kept
from owner_agent.peer.outgoing import PEER
from owner_agent.peer.result_display import show_results

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
        "privacy": told_json(outcome.told),
    }


def show_outcome(console: Console, outcome: JointOutcome) -> None:
    """Print what a session found, and where it is."""
    show_results(console, outcome.folder)
    console.print(f"The result is in {outcome.folder}:", markup=False, soft_wrap=True)
    for path in sorted(outcome.folder.iterdir()):
        console.print(f"  {path.name}", markup=False)
    for line in told_lines(outcome.told):
        console.print(line, markup=False, soft_wrap=True)
    for name in outcome.unconfirmed:
        console.print(
            f"{name} did not confirm that it wrote the result. It will ask the others when the"
            " session's time is over; if it was stopped, give it the files.",
            style="bold yellow",
            markup=False,
        )


def shared_json(kept: Sequence[Kept]) -> list[dict[str, Any]]:
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


def show_peer_lines(console: Console, entries: Sequence[Entry], kept: Sequence[Kept] = ()) -> None:
    """Print what of the ledger went to peers, and to whom; `kept` tells of shared parameters."""
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
            "Epsilon covers the randomized columns. It does not cover the parameters: they are made"
            " from this owner's true records.",
            markup=False,
        )
