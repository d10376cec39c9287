"""This process's own owner as one of a session's partners, without a network between."""

from __future__ import annotations

from dataclasses import dataclass

from owner_agent.peer.members.participant import Participant
from owner_agent.peer.protocol.messages import Ending, Proposal, Signed, Statements, Status


@dataclass(frozen=True)
class LocalPartner:
    """The initiator's own part in its session."""

    participant: Participant

    @property
    def name(self) -> str:
        """The owner's name."""
        return self.participant.name

    def within(self, ends: float) -> LocalPartner:  # noqa: ARG002
        """Return itself; nobody waits for itself longer than for its work."""
        return self

    def propose(self, proposal: Proposal) -> Signed:
        """Take part."""
        return self.participant.propose(self.name, proposal)

    def offers(self, session: str, offers: Statements) -> Signed:
        """Learn what all have."""
        return self.participant.offers(self.name, session, offers)

    def announcements(self, session: str, announcements: Statements) -> Status:
        """Check what all would send."""
        return self.participant.announcements(self.name, session, announcements)

    def begin(self, session: str) -> Status:
        """Fetch and learn."""
        return self.participant.begin(self.name, session)

    def package_part(self, session: str, number: int, limit: int) -> bytes:  # noqa: ARG002
        """Return one part; nobody asks itself."""
        return self.participant.package_part(self.name, session, number)

    def status(self, session: str) -> Status:
        """Return how far this owner is."""
        return self.participant.status(self.name, session)

    def parts(self, session: str, parts: Statements) -> Signed:
        """Join what all have learned."""
        return self.participant.parts(self.name, session, parts)

    def commit(self, session: str, agreed: Statements) -> Status:
        """Write the result."""
        return self.participant.commit(self.name, session, agreed)

    def end(self, session: str, ending: Ending) -> Status:
        """End the session."""
        return self.participant.end(self.name, session, ending)
