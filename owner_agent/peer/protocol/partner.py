"""What an owner in a session can be asked, whether it is this process or another machine."""

from __future__ import annotations

from typing import Protocol

from owner_agent.peer.protocol.messages import Ending, Proposal, Signed, Statements, Status


class Partner(Protocol):
    """An owner in a session. Every method raises PramanaError."""

    @property
    def name(self) -> str:
        """The owner's name."""

    def within(self, ends: float) -> Partner:
        """Return the same owner, to be waited for until a moment (of this owner's clock) only."""

    def propose(self, proposal: Proposal) -> Signed:
        """Ask the owner to take part; return its offer."""

    def offers(self, session: str, offers: Statements) -> Signed:
        """Tell the owner what all have; return its announcement."""

    def announcements(self, session: str, announcements: Statements) -> Status:
        """Tell the owner what all would send, to be checked."""

    def begin(self, session: str) -> Status:
        """Let the owner fetch and learn, now that all have checked everything."""

    def package_part(self, session: str, number: int, limit: int) -> bytes:
        """Return part `number`, at most `limit` bytes, of what the owner has for the caller."""

    def status(self, session: str) -> Status:
        """Return how far the owner is."""

    def parts(self, session: str, parts: Statements) -> Signed:
        """Tell the owner what all have learned; return what it agrees to write."""

    def commit(self, session: str, agreed: Statements) -> Status:
        """Let the owner write its result, which all have agreed to."""

    def end(self, session: str, ending: Ending) -> Status:
        """Tell the owner that the session ends without a result."""
