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

    work: float = 600.0  # for another owner's answer that needs work, unless a session file differs
    connect: float = 10.0  # until another owner takes a call, unless a session file differs
    quick: float = 20.0  # for another owner's answer that needs no work
    least: float = 5.0  # for any answer, even at the very end of a session
    grace: float = 15.0  # beyond the longest time of a session, to hear why it ended
    asking: float = 20.0  # for questions whether a result was written, after a session's time
    last: float = 20.0  # for notices of a session's end, whatever its time
    poll: float = 0.2  # between questions how far owners are
    sweep: float = 1.0  # between looks at a session that nobody calls any more
    start: float = 30.0  # until its own server is up, or down
    brief: float = 10.0  # for a miner's answer that is not worth a long wait


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
