"""What a service tells of its audit log, so that others can remember it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from pramana_core.audit.verifying import Anchor
from pramana_core.wire.base import Message, Sha256


class AuditAnchor(Message):
    """A state of an audit log, on disk when it is told.

    Whoever remembers it can show later that the log still holds every line that it held then. `log`
    is the hash of its first line; null while it has none. `head` is that of the last.
    """

    log: Sha256 | None
    entries: Annotated[int, Field(ge=0)]
    head: Sha256
    at: datetime

    @classmethod
    def of(cls, anchor: Anchor) -> AuditAnchor:
        """Return the message of an anchor."""
        return cls(
            log=anchor.log,
            entries=anchor.entries,
            head=anchor.head,
            at=datetime.fromisoformat(anchor.at),
        )

    def to_anchor(self) -> Anchor:
        """Return the anchor."""
        return Anchor(self.log, self.entries, self.head, self.at.isoformat())
