"""The ledger's record of a session: tables disclosed exactly, and the proof of agreement."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from pydantic import ValidationError

from owner_agent.peer.exchange.local_records import LocalRecords
from owner_agent.peer.protocol.messages import Proposal, Statements
from owner_agent.release.ledger import PEER, Entry
from pramana_core.errors import StoreCorrupt
from pramana_core.wire.base import Label, Message, Sha256


class SharedFamily(Message):
    """A family whose parameters all participants received. No epsilon covers this disclosure."""

    node: Label
    parents: list[Label]

    def __str__(self) -> str:
        """Return the family as text for people."""
        return f"{self.node} given {', '.join(self.parents)}" if self.parents else self.node


class ExactTable(Message):
    """A table that shared parameters reveal, as digests of the owner's and of peers' columns."""

    study: str
    own: list[Sha256]
    groups: list[Sha256]
    columns: list[str]
    against: list[str]
    session: str
    shared: datetime

    def covers(self, other: ExactTable) -> bool:
        """Whether `other` is part of this table."""
        same = (self.study, self.own) == (other.study, other.own)
        return same and set(self.groups) >= set(other.groups)


class SessionRecord(Message):
    """A session's shared families and, once the result may be written, the owners' agreement."""

    proposal: Proposal
    families: tuple[SharedFamily, ...] = ()
    tables: tuple[ExactTable, ...] = ()
    digest: Sha256 | None = None
    agreed: Statements | None = None


def session_name(session: str) -> str:
    """Return the name under which the ledger lists a session."""
    return f"session-{session}"


def session_entry(
    holding: LocalRecords, proposal: Proposal, peers: Sequence[str], now: datetime
) -> Entry:
    """Return the ledger's entry for taking part in a session with peers."""
    return Entry(
        miner=PEER + ",".join(peers),
        study=proposal.study,
        name=session_name(proposal.session),
        content=proposal.digest,
        digest=proposal.digest,
        plan_digest=proposal.digest,
        records=len(holding.keys),
        parts=0,
        state="prepared",
        prepared=now,
        changed=now,
        release_id=proposal.session,
        draws=(),
    )


def session_records(entries: Iterable[Entry]) -> list[SessionRecord]:
    """Return the records of sessions in the ledger's entries, oldest first. Raises StoreCorrupt."""
    return [_read(entry) for entry in entries if entry.session]


def _read(entry: Entry) -> SessionRecord:
    try:
        return SessionRecord.model_validate_json(entry.session)
    except ValidationError:
        raise StoreCorrupt(
            f"The ledger's record of {entry.name} is damaged.",
            where=entry.name,
            remedy="Restore the state folder from your newest backup. Only this record contains "
            "what was shared.",
        ) from None
