"""Limits for each sender: requests over time, and concurrent bodies."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pramana_core.errors import TooManyRequests

BURST_SECONDS = 10
"""A sender that was idle may send as many requests at once as are allowed in these seconds."""

_MOST_KEPT = 4096
"""The maximum number of senders before the senders with a full bucket are forgotten."""

Now = Callable[[], float]


@dataclass
class Buckets:
    """A token bucket of requests for each sender. All buckets are refilled at the same rate."""

    per_second: float
    now: Now
    _spent: dict[str, tuple[float, float]] = field(default_factory=dict)
    """For each sender, the missing requests in its bucket and the time of that count."""

    def take(self, sender: str) -> float:
        """Take one request from a bucket. Return 0, or the seconds until a request can be taken."""
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
    """Limits each token's concurrent bodies: at most `bodies`, of at most `size` bytes in total."""

    bodies: int
    size: int
    _transfers: dict[str, tuple[int, int]] = field(default_factory=dict)

    @contextmanager
    def in_transfer(self, token: str, size: int) -> Iterator[None]:
        """Count a body of `size` bytes during its transfer. Raises TooManyRequests."""
        bodies, total = self._transfers.get(token, (0, 0))
        # A single body may exceed `size`: another limit applies to it.
        if bodies and (bodies >= self.bodies or total + size > self.size):
            raise slow_down(
                f"{bodies} bodies with {total} bytes are in transfer; the limit is {self.bodies}"
                f" bodies with {self.size} bytes in total.",
                "token" if token else "body",
                1,
                "Wait until the other transfers end, then send the request again.",
            )
        self._transfers[token] = (bodies + 1, total + size)
        try:
            yield
        finally:
            bodies, total = self._transfers.pop(token)
            if bodies > 1:
                self._transfers[token] = (bodies - 1, total - size)


def slow_down(message: str, where: str, seconds: float, remedy: str) -> TooManyRequests:
    """Return the error for a sender that must wait some seconds."""
    error = TooManyRequests(message, where=where, remedy=remedy)
    error.retry_seconds = max(1, math.ceil(seconds))
    return error
