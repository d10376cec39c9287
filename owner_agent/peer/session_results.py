"""The files of a session's result, which are staged first and then published in one step."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from owner_agent.peer.exchange.session_record import session_records
from owner_agent.peer.protocol.messages import Status
from owner_agent.release.ledger import Ledger
from owner_agent.site.site import Site
from owner_agent.state.private_files import (
    DIRECTORY_MODE,
    private_directory,
    sync_directory,
    write_durably,
)
from pramana_core.errors import NotFound
from pramana_core.full_disks import storing

_UNFINISHED = ".unfinished-"


@dataclass(frozen=True)
class StagedFiles:
    """Files that are written durably, but do not have their final name yet."""

    hidden: Path
    final: Path

    def publish(self) -> Path:
        """Rename the files to their final name in one step; return the folder. Safe to repeat."""
        if self.hidden.exists():
            self.hidden.rename(self.final)
            sync_directory(self.final.parent)
        return self.final

    def discard(self) -> None:
        """Remove the files unless they are published."""
        shutil.rmtree(self.hidden, ignore_errors=True)


def staged_in(results: Path, session: str) -> StagedFiles:
    """Return the staged and final paths of a session's files."""
    return StagedFiles(results / f"{_UNFINISHED}{session}", results / session)


def stage(results: Path, session: str, files: Mapping[str, bytes]) -> StagedFiles:
    """Write the files of a session's result under a temporary name."""
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


def finish_written(site: Site) -> None:
    """After a restart, publish staged results that all owners had agreed on."""
    for record in session_records(Ledger(site.state).entries()):
        if record.agreed is not None:
            staged_in(site.folder / site.peer.results, record.proposal.session).publish()


def no_session(session: str) -> NotFound:
    """Return the error for a session that does not exist or is hidden from the caller."""
    return NotFound("This owner has no such session.", where=session)


def earlier_status(site: Site, caller: str, session: str) -> Status:
    """Return the status of an earlier session that wrote its result here. Raises NotFound."""
    for record in session_records(Ledger(site.state).entries()):
        proposal = record.proposal
        if (
            proposal.session == session
            and record.agreed is not None
            and caller in proposal.participants
            and staged_in(site.folder / site.peer.results, session).final.is_dir()
        ):
            return Status(phase="written", digest=record.digest, agreed=record.agreed)
    raise no_session(session)
