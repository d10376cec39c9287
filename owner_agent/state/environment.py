"""Where an agent runs: clock, randomness, transport, and how long it waits."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx


def utc_now() -> datetime:
    """Return the time now, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class WaitingTimes:
    """How long an agent waits for others, and how often it repeats things, in seconds."""

    work: float = 600.0
    """For another owner's answer that needs work; a session file says otherwise."""
    connect: float = 10.0
    """Until another owner takes a call at all; a session file may say otherwise."""
    quick: float = 20.0
    """For another owner's answer that needs no work."""
    least: float = 5.0
    """For any answer, even at the very end of a session."""
    grace: float = 15.0
    """Longer than a session may last, so as to hear why it ended."""
    asking: float = 20.0
    """To ask the others whether they wrote a result, when the session's time is over."""
    last: float = 20.0
    """For telling owners of a session's end, good or bad, whatever its time."""
    poll: float = 0.2
    """How often owners that learn are asked how far they are."""
    sweep: float = 1.0
    """How often a session is looked at that nobody calls any more."""
    start: float = 30.0
    """Until its own server is up, or down."""
    brief: float = 10.0
    """For a miner's answer that is not worth a long wait."""


@dataclass(frozen=True)
class Environment:
    """Transport, clock, patience and randomness, all replaceable; no `transport` is the network."""

    transport: httpx.BaseTransport | None = None
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], datetime] = utc_now
    random_bytes: Callable[[int], bytes] = secrets.token_bytes
    attempts: int = 5
    lock_attempts: int = 20
    patience: WaitingTimes = WaitingTimes()
