"""A session's progress and results, printed for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from rich.console import Console

from owner_agent.peer.exchange.session_loss import session_json, session_lines
from owner_agent.release.ledger import PEER
from pramana_core.report.report import Column, Row, Section, Sentence, Table

if TYPE_CHECKING:
    from owner_agent.peer.exchange.session_record import ExactTable, SessionRecord
    from owner_agent.peer.joint import JointOutcome
    from owner_agent.release.ledger import Entry

STEPS = {
    "offers": "inviting the owners",
    "announcements": "randomizing",
    "checks": "checking the announcements",
    "start": "starting",
    "learning": "learning",
    "networks": "joining the parts",
    "writing": "writing",
}


def outcome_json(outcome: JointOutcome) -> dict[str, Any]:
    """Return a session's outcome as JSON values; the network itself is in the files."""
    return {
        "session": outcome.session,
        "digest": outcome.digest,
        "folder": str(outcome.folder),
        "files": sorted(path.name for path in outcome.folder.iterdir()),
        "unconfirmed": list(outcome.unconfirmed),
        "privacy": session_json(outcome.loss),
    }


def show_outcome(console: Console, outcome: JointOutcome) -> None:
    """Print a session's results, and the paths of its files."""
    console.print(f"The result is in {outcome.folder}:", markup=False, soft_wrap=True)
    for path in sorted(outcome.folder.iterdir()):
        console.print(f"  {path.name}", markup=False)
    for line in session_lines(outcome.loss):
        console.print(line, markup=False, soft_wrap=True)
    for name in outcome.unconfirmed:
        console.print(
            f"{name} did not confirm that it wrote the result. Its agent will ask the other "
            "owners for the result when the session's time is over. If the agent was stopped, "
            "send the files to this owner.",
            style="bold yellow",
            markup=False,
        )


def shared_json(sessions: Sequence[SessionRecord], tables: Sequence[ExactTable]) -> dict[str, Any]:
    """Return the families with shared parameters and the tables they reveal, as JSON values."""
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


def peer_sections(
    entries: Sequence[Entry],
    sessions: Sequence[SessionRecord] = (),
    exact: Sequence[ExactTable] = (),
    groupings: int | None = None,
) -> Iterator[Section]:
    """Yield sections on releases to peers and on exactly disclosed tables.

    `groupings` is the maximum number of tables that may be disclosed in a study.
    """
    families = {one.proposal.session: "; ".join(map(str, one.families)) for one in sessions}
    rows = []
    for entry in entries:
        if not entry.miner.startswith(PEER):
            continue
        columns = ", ".join(draw.column for draw in entry.draws)
        learned = families.get(entry.release_id or "")
        offer = f"its offer, and the parameters of {learned}" if learned else "its offer"
        to = entry.miner.removeprefix(PEER)
        rows.append({"release": entry.name, "to": to, "columns": columns or offer})
    shared = (
        "Epsilon covers the randomized columns. It does not cover the shared parameters, which come"
        " from this owner's true records."
    )
    if rows:
        sentences = [shared] * any(families.values())
        yield Section("Releases to peers", table=_text_table(rows))
        yield Section(sentences=sentences)
    tables = [
        {
            "study": one.study,
            "columns": ", ".join(one.columns),
            "against the peers'": ", ".join(one.against) or "no column",
        }
        for one in exact
    ]
    if tables:
        allowed = "" if groupings is None else f" The site file allows {groupings} per study."
        words = (
            "Two tables that differ in a few records reveal these records by subtraction. No "
            f"epsilon covers this disclosure.{allowed}"
        )
        yield Section("Tables shared exactly with peers", table=_text_table(tables))
        yield Section(sentences=[Sentence(words, "note")])


def _text_table(rows: Sequence[Row]) -> Table:
    return Table([Column(name, itemgetter(name), number=False) for name in rows[0]], rows)
