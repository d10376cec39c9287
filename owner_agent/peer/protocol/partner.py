"""An owner in a session, whether it is this process or another machine."""

from __future__ import annotations

from typing import Protocol

from owner_agent.peer.protocol.steps import Answer, Request, Step


class Partner(Protocol):
    """An owner that can be asked to do the steps of a session. Every method raises PramanaError."""

    @property
    def name(self) -> str:
        """The owner's name."""

    def within(self, ends: float) -> Partner:
        """Return the same owner, to be waited for until a moment (of this owner's clock) only."""

    def ask(
        self, step: Step[Request, Answer], session: str, message: Request | None = None
    ) -> Answer:
        """Let the owner do a step; return what it answers."""


class Peer(Partner, Protocol):
    """Another owner, whose columns can be fetched too."""

    def within(self, ends: float) -> Peer:
        """Return the same owner, to be waited for until a moment (of this owner's clock) only."""

    def package_part(self, session: str, number: int, limit: int) -> bytes:
        """Return part `number`, at most `limit` bytes, of what the owner has for the caller."""
