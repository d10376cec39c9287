"""How much one sender may ask for: requests over time, and bodies on their way at once.

The time is passed in, in seconds of any clock that never goes back.

Also here:

* Threads for what takes long, apart from those that all short requests share.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ParamSpec, TypeVar

from pramana_core.errors import NotReady, TooManyRequests

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
            self._spent = {s: held for s, held in self._spent.items() if self._missing(s, now) > 0}
        self._spent[sender] = (missing + 1, now)
        return 0.0

    def _missing(self, sender: str, now: float) -> float:
        missing, since = self._spent.get(sender, (0.0, now))
        return max(0.0, missing - (now - since) * self.per_second)


@dataclass
class InFlight:
    """The bodies on their way, by token."""

    bodies: int
    size: int
    _held: dict[str, tuple[int, int]] = field(default_factory=dict)

    @contextmanager
    def held(self, token: str, size: int) -> Iterator[None]:
        """Count a body of so many bytes while it is on its way. Raises TooManyRequests."""
        bodies, total = self._held.get(token, (0, 0))
        # One body alone may be larger than the share: another limit bounds it.
        if bodies and (bodies >= self.bodies or total + size > self.size):
            raise slow_down(
                f"{bodies} bodies of {total} bytes are on their way with this token; at most"
                f" {self.bodies}, of {self.size} bytes together, are taken at once.",
                "token",
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


@dataclass
class BodyMemory:
    """The memory that all bodies on their way may take together."""

    size: int
    _taken: int = 0

    @contextmanager
    def held(self, size: int) -> Iterator[None]:
        """Count a body of so many bytes while it is on its way. Raises TooManyRequests."""
        if self._taken + size > self.size:
            raise slow_down(
                "Too many large bodies are on their way.",
                "body",
                1,
                "Send it again a little later.",
            )
        self._taken += size
        try:
            yield
        finally:
            self._taken -= size


def slow_down(message: str, where: str, seconds: float, remedy: str) -> TooManyRequests:
    """Return the error for somebody who may try again after some seconds."""
    error = TooManyRequests(message, where=where, remedy=remedy)
    error.retry_seconds = max(1, math.ceil(seconds))
    return error


# Threads for what takes long, apart from those that all short requests share.

_PATIENCE = 5.0

P = ParamSpec("P")
T = TypeVar("T")


class Pool:
    """At most so many threads; what finds none free waits in a queue, in order.

    Args:
        patience: after so many seconds in the queue work is given up.
    """

    def __init__(self, name: str, threads: int, patience: float | None = None) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._patience = patience

    def submit(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> asyncio.Future[T]:
        """Let work be done; return what to wait for."""
        future = self._threads.submit(work, *args, **kwargs)
        return asyncio.wrap_future(future)

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do work, and return what it returns. Raises NotReady: no thread was free in time."""
        future = self._threads.submit(work, *args, **kwargs)
        if self._patience is None:
            return await asyncio.wrap_future(future)
        # What is being done is not given up: it cannot be cancelled any more.
        late = asyncio.get_running_loop().call_later(self._patience, future.cancel)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not future.cancelled() or (task is not None and task.cancelling()):
                raise
            raise NotReady(
                "Too many requests wait for the database.",
                where="database",
                remedy="Send it again later; whoever runs the service should look at `/readyz`.",
            ) from None
        finally:
            late.cancel()

    def close(self) -> None:
        """Let the threads end when they are done."""
        self._threads.shutdown(wait=False)


@dataclass(frozen=True)
class Pools:
    """The threads of one service.

    Attributes:
        entering: tokens that are looked up. They are few: each thread that computes is one more
            that the loop, which answers all, may have to wait for. Where a database that is away
            keeps them all, who waits is told so.
        writing: bodies that arrive, block by block.
        storing: parts that arrived; these wait for the disk.
        sealing: releases, which takes up to minutes.
        probing: what the service depends on; what stands still keeps these alone.
    """

    entering: Pool = field(default_factory=lambda: Pool("entering", 4, _PATIENCE))
    writing: Pool = field(default_factory=lambda: Pool("writing", 4))
    storing: Pool = field(default_factory=lambda: Pool("storing", 16))
    sealing: Pool = field(default_factory=lambda: Pool("sealing", 4))
    probing: Pool = field(default_factory=lambda: Pool("probing", 8))

    def close(self) -> None:
        """Let all threads end when they are done."""
        for pool in (self.entering, self.writing, self.storing, self.sealing, self.probing):
            pool.close()
