"""How much one sender may ask for: requests over time, and bodies on their way at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pramana_core.errors import TooManyRequests

BURST_SECONDS = 10
"""A sender that was silent may send at once what it may send in this time."""

_MOST_KEPT = 4096
"""So many senders are remembered before those whose bucket is full again are forgotten."""

Now = Callable[[], float]


@dataclass
class Buckets:
    """A bucket of requests for each sender, refilled at one rate."""

    per_second: float
    now: Now
    _spent: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Of each sender: how much was missing in its bucket, and when."""

    def take(self, sender: str) -> float:
        """Take one request; return after how many seconds the next try can succeed, 0 if now."""
        now, most = self.now(), max(1.0, self.per_second * BURST_SECONDS)
        missing = self._missing(sender, now)
        if missing + 1 > most:
            return (missing + 1 - most) / self.per_second
        if len(self._spent) >= _MOST_KEPT and sender not in self._spent:
            self._spent = {
                s: spent for s, spent in self._spent.items() if self._missing(s, now) > 0
            }
        self._spent[sender] = (missing + 1, now)
        return 0.0

    def _missing(self, sender: str, now: float) -> float:
        missing, since = self._spent.get(sender, (0.0, now))
        return max(0.0, missing - (now - since) * self.per_second)


@dataclass
class InFlight:
    """Bodies on their way, by token: at most `bodies` at once, of `size` bytes together."""

    bodies: int
    size: int
    _held: dict[str, tuple[int, int]] = field(default_factory=dict)

    @contextmanager
    def held(self, token: str, size: int) -> Iterator[None]:
        """Count a body of `size` bytes while it is on its way. Raises TooManyRequests."""
        bodies, total = self._held.get(token, (0, 0))
        # One body alone may be larger than the share: another limit bounds it.
        if bodies and (bodies >= self.bodies or total + size > self.size):
            raise slow_down(
                f"{bodies} bodies of {total} bytes are on their way; at most {self.bodies}, of"
                f" {self.size} bytes together, are taken at once.",
                "token" if token else "body",
                1,
                "Wait for the end of the others, then send it again.",
            )
        self._held[token] = (bodies + 1, total + size)
        try:
            yield
        finally:
            bodies, total = self._held.pop(token)
            if bodies > 1:
                self._held[token] = (bodies - 1, total - size)


def slow_down(message: str, where: str, seconds: float, remedy: str) -> TooManyRequests:
    """Return the error for somebody who may try again after some seconds."""
    error = TooManyRequests(message, where=where, remedy=remedy)
    error.retry_seconds = max(1, math.ceil(seconds))
    return error
