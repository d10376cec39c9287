"""The ledger's line about a session."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from owner_agent.peer.exchange.local_records import LocalRecords
from owner_agent.peer.protocol.messages import Proposal
from owner_agent.release.ledger import PEER, Entry


def session_name(session: str) -> str:
    """Return the name under which the ledger has a session."""
    return f"session-{session}"


def session_entry(
    holding: LocalRecords, proposal: Proposal, peers: Sequence[str], now: datetime
) -> Entry:
    """Return the line which says that this owner takes part in a session with some peers.

    Lines about what is sent in the session have the same place and time, and other contents.
    """
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
