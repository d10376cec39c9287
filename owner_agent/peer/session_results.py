"""The results of sessions: their files, the families shared, and the proof that all agreed.

Files are made out of sight and get their name whole or not at all. The kept agreements prove that
every owner was ready to write one result. With them an owner may write it after a new start, and
inform an owner that missed the last message.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from owner_agent.peer.protocol.messages import FamilyMessage, Proposal, Statements, Status
from owner_agent.site.site import Site
from owner_agent.state.ledger_file import state_directory
from owner_agent.state.private_files import (
    DIRECTORY_MODE,
    private_directory,
    sync_directory,
    write_durably,
    write_replacing,
)
from pramana_core.errors import NotFound, StoreCorrupt
from pramana_core.full_disks import storing
from pramana_core.wire.base import Label, Message, Sha256

_UNFINISHED = ".unfinished-"


@dataclass(frozen=True)
class StagedFiles:
    """Files that are written durably but do not have their name yet."""

    hidden: Path
    final: Path

    def publish(self) -> Path:
        """Give the files their name in one step; return the folder. Harmless if done before."""
        if self.hidden.exists():
            self.hidden.rename(self.final)
            sync_directory(self.final.parent)
        return self.final

    def discard(self) -> None:
        """Remove the files, unless they have their name already."""
        shutil.rmtree(self.hidden, ignore_errors=True)


def staged_in(results: Path, session: str) -> StagedFiles:
    """Return where a session's files are before and after they have their name."""
    return StagedFiles(results / f"{_UNFINISHED}{session}", results / session)


def stage(results: Path, session: str, files: Mapping[str, bytes]) -> StagedFiles:
    """Write the result of a session where nobody looks for it yet."""
    with storing("a folder", results):
        results.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
    for stale in results.glob(f"{_UNFINISHED}*"):
        shutil.rmtree(stale)
    made = staged_in(results, session)
    private_directory(made.hidden)
    for name, content in files.items():
        write_durably(made.hidden / name, content)
    sync_directory(made.hidden)
    return made


def no_session(session: str) -> NotFound:
    """Return the error for a session that this owner does not have, or does not show."""
    return NotFound("There is no such session here.", where=session)


_FOLDER = "sessions"


class SharedFamily(Message):
    """A family whose parameters all participants got; epsilon says nothing of it."""

    node: Label
    parents: list[Label]

    def __str__(self) -> str:
        """Return it as people read it."""
        return f"{self.node} given {', '.join(self.parents)}" if self.parents else self.node


class SessionResult(Message):
    """One session: what was shared, and, once the result may be written, why."""

    proposal: Proposal
    families: tuple[SharedFamily, ...] = ()
    digest: Sha256 | None = None
    agreed: Statements | None = None


def families_of(messages: list[FamilyMessage]) -> tuple[SharedFamily, ...]:
    """Return what is kept of learned families: their names, and no parameter."""
    return tuple(SharedFamily(node=family.node, parents=family.parents) for family in messages)


def keep(state: Path, kept: SessionResult) -> None:
    """Write down a session, durably, in place of what was known of it."""
    folder = private_directory(state_directory(state) / _FOLDER)
    path = folder / f"{kept.proposal.session}.json"
    write_replacing(path, kept.model_dump_json().encode())


def kept_of(state: Path, session: str) -> SessionResult | None:
    """Return what was kept of a session, or None. Raises StoreCorrupt."""
    # What a peer names may be no number of a session but a path.
    path = state / _FOLDER / f"{session}.json"
    if not re.fullmatch(r"[0-9a-f]{32}", session) or not path.exists():
        return None
    try:
        return SessionResult.model_validate_json(path.read_bytes())
    except ValidationError:
        raise StoreCorrupt(
            f"{path} is not what was kept of a session.",
            where=str(path),
            remedy="Restore it from your backup, or remove it if you know what it listed.",
        ) from None


def all_kept(state: Path) -> list[SessionResult]:
    """Return what was kept of every session. Raises StoreCorrupt."""
    found = (kept_of(state, path.stem) for path in sorted((state / _FOLDER).glob("*.json")))
    return [kept for kept in found if kept is not None]


def earlier_status(site: Site, caller: str, session: str) -> Status:
    """Return the status of an earlier session whose result was written here. Raises NotFound."""
    kept = kept_of(site.state, session)
    if kept is None or kept.agreed is None or caller not in kept.proposal.participants:
        raise no_session(session)
    if not staged_in(site.folder / site.peer.results, session).final.is_dir():
        raise no_session(session)
    return Status(phase="written", digest=kept.digest, agreed=kept.agreed)
