"""What people see of a session: how far it is, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from rich.console import Console

from owner_agent.peer.exact import Disclosure
from owner_agent.peer.exchange.session_loss import session_json, session_lines
from owner_agent.release.ledger import PEER
from pramana_core.errors import PramanaError
from pramana_core.report.report import Column, Row, Section, Sentence, Table

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
    """Return the exact tables for scripts; null, with the reason, where the memory is `lost`."""
    if lost is not None:
        reason = {"code": lost.code, "message": lost.message, "remedy": lost.remedy}
        return {"told_exactly": None, "told_exactly_error": reason}
    listed = [one.model_dump(mode="json", exclude={"own", "groups"}) for one in disclosures]
    return {"told_exactly": listed}


def peer_sections(
    entries: Sequence[Entry],
    kept: Sequence[SessionResult] = (),
    disclosures: Sequence[Disclosure] = (),
    groupings: int | None = None,
) -> Iterator[Section]:
    """Yield what left to peers, and the tables disclosed exactly; a study may have `groupings`."""
    families = {one.proposal.session: "; ".join(map(str, one.families)) for one in kept}
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
        "Epsilon covers the randomized columns. It does not cover the parameters that were shared:"
        " they are made from this owner's true records."
    )
    if rows:
        said = [shared] * any(families.values())
        yield Section("Of these, to peers", table=_text_table(rows))
        yield Section(sentences=said)
    tables = [
        {
            "study": one.study,
            "columns": ", ".join(one.columns),
            "against the peers'": ", ".join(one.against) or "no column",
        }
        for one in disclosures
    ]
    if tables:
        allowed = "" if groupings is None else f" The site file allows {groupings} in a study."
        words = (
            "Two tables that differ in few records reveal those records by subtraction; epsilon"
            f" does not cover it.{allowed}"
        )
        yield Section("Tables disclosed exactly to peers", table=_text_table(tables))
        yield Section(sentences=[Sentence(words, "note")])


def _text_table(rows: Sequence[Row]) -> Table:
    return Table([Column(name, itemgetter(name), number=False) for name in rows[0]], rows)
