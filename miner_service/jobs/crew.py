"""What the service asks of those who run its jobs, wherever they do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from miner_service.services import Services


class Crew(Protocol):
    """Those who run jobs, from the start of a service to its end."""

    @property
    def alive(self) -> bool:
        """Whether jobs are being taken up."""

    @property
    def stopping(self) -> bool:
        """Whether the service is about to end."""

    def start(self) -> None:
        """Take jobs up."""

    def wake(self) -> None:
        """Say that a job was queued or cancelled."""

    def ask_to_stop(self) -> None:
        """Let the running jobs go; they will run again at the next start."""

    def stop(self) -> None:
        """Ask to stop, and wait until it is done."""


CrewMaker = Callable[[Services], Crew]
"""Makes the crew of a service."""
