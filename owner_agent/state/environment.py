"""An agent's environment: clock, randomness, transport and waiting times."""

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
    """Return the current time in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class WaitingTimes:
    """How many seconds an agent waits for the miner and for owners, and how often it retries."""

    work: float = 600.0  # for another owner's answer that takes work, if no session file sets it
    connect: float = 10.0  # to connect to another owner, if no session file sets it
    quick: float = 20.0  # for another owner's answer that takes no work
    least: float = 5.0  # for any answer, even at the very end of a session
    grace: float = 15.0  # after a session's time limit, to receive the reason of its end
    asking: float = 20.0  # after a session's time limit, to ask whether results were written
    last: float = 20.0  # for notices of a session's end
    poll: float = 0.2  # between requests for other owners' progress
    sweep: float = 1.0  # between checks for abandoned sessions
    start: float = 30.0  # for the agent's own server to start or stop
    brief: float = 10.0  # for a miner's optional answer


@dataclass(frozen=True)
class Environment:
    """The agent's network transport, clock, waiting times and randomness, replaceable in tests."""

    transport: httpx.BaseTransport | None = None
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], datetime] = utc_now
    random_bytes: Callable[[int], bytes] = secrets.token_bytes
    attempts: int = 5
    lock_attempts: int = 20
    patience: WaitingTimes = WaitingTimes()
