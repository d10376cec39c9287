"""What the agent takes from the world around it; tests give it another world."""

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
class Surroundings:
    """Transport, clock, patience and randomness, all replaceable.

    `transport` None is the network; `attempts` is how often a request is tried before the miner
    counts as unreachable, `lock_attempts` how often a session tries to hold the state directory's
    lock while another publication does.
    """

    transport: httpx.BaseTransport | None = None
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], datetime] = utc_now
    random_bytes: Callable[[int], bytes] = secrets.token_bytes
    attempts: int = 5
    lock_attempts: int = 20
