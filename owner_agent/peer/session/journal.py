"""What an owner keeps of each session beside the ledger: families it shared, and all agreements.

The agreements prove that every owner was ready to write one result. With them an owner may write,
and tell an owner that missed the last word, also after it was started anew.
"""

from __future__ import annotations

import re
from pathlib import Path

from pydantic import ValidationError

from owner_agent.peer.protocol.messages import FamilyMessage, Proposal, Statements, Status
from owner_agent.peer.session.session import no_session
from owner_agent.peer.session.staging import staged_in
from owner_agent.site.site import Site
from owner_agent.state.history import state_directory
from owner_agent.state.private_files import private_directory, write_replacing
from pramana_core.errors import StoreCorrupt
from pramana_core.wire.base import Label, Message, Sha256

_FOLDER = "sessions"


class SharedFamily(Message):
    """A family whose parameters all participants got; epsilon says nothing of it."""

    node: Label
    parents: list[Label]

    def __str__(self) -> str:
        """Return it as people read it."""
        return f"{self.node} given {', '.join(self.parents)}" if self.parents else self.node


class Kept(Message):
    """One session: what was shared, and, once the result may be written, why."""

    proposal: Proposal
    families: tuple[SharedFamily, ...] = ()
    digest: Sha256 | None = None
    agreed: Statements | None = None


def families_of(told: list[FamilyMessage]) -> tuple[SharedFamily, ...]:
    """Return what is kept of learned families: their names, and no parameter."""
    return tuple(SharedFamily(node=family.node, parents=family.parents) for family in told)


def keep(state: Path, kept: Kept) -> None:
    """Write down a session, durably, in place of what was known of it."""
    folder = private_directory(state_directory(state) / _FOLDER)
    path = folder / f"{kept.proposal.session}.json"
    write_replacing(path, kept.model_dump_json().encode())


def kept_of(state: Path, session: str) -> Kept | None:
    """Return what was kept of a session, or None. Raises StoreCorrupt."""
    # What a peer names may be no number of a session but a path.
    path = state / _FOLDER / f"{session}.json"
    if not re.fullmatch(r"[0-9a-f]{32}", session) or not path.exists():
        return None
    try:
        return Kept.model_validate_json(path.read_bytes())
    except ValidationError:
        raise StoreCorrupt(
            f"{path} is not what was kept of a session.",
            where=str(path),
            remedy="Restore it from your backup, or remove it if you know what it listed.",
        ) from None


def all_kept(state: Path) -> list[Kept]:
    """Return what was kept of every session. Raises StoreCorrupt."""
    found = (kept_of(state, path.stem) for path in sorted((state / _FOLDER).glob("*.json")))
    return [kept for kept in found if kept is not None]


def earlier_status(site: Site, caller: str, session: str) -> Status:
    """Return the status of an earlier session whose result was written here.

    Raises:
        NotFound: there was none, or none of the caller's.
    """
    kept = kept_of(site.state, session)
    if kept is None or kept.agreed is None or caller not in kept.proposal.participants:
        raise no_session(session)
    if not staged_in(site.folder / site.peer.results, session).final.is_dir():
        raise no_session(session)
    return Status(phase="written", digest=kept.digest, agreed=kept.agreed)
