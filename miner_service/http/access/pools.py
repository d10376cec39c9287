"""Thread pools for slow work, separate from the pool of short requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import ParamSpec, TypeVar

from pramana_core.errors import NotReady

_PATIENCE = 5.0

P = ParamSpec("P")
T = TypeVar("T")


class Pool:
    """A pool of at most `threads` threads. Other work waits, at most `patience` seconds."""

    def __init__(self, name: str, threads: int, patience: float | None = None) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._free = asyncio.Semaphore(threads)
        self._patience = patience

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run work in a thread and return its result. Raises NotReady if it waited too long."""
        try:
            async with asyncio.timeout(self._patience):
                await self._free.acquire()
        except TimeoutError:
            raise NotReady(
                "Too many requests wait for the database.",
                where="database",
                remedy="Send the request again later. The operator should check `/readyz`.",
            ) from None
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, partial(work, *args, **kwargs))
        finally:
            self._free.release()

    def close(self) -> None:
        """Let the threads end after their current work."""
        self._threads.shutdown(wait=False)


@dataclass(frozen=True)
class Pools:
    """A service's thread pools: for tokens, bodies, parts, releases, and readiness."""

    entering: Pool = field(default_factory=lambda: Pool("entering", 4, _PATIENCE))
    writing: Pool = field(default_factory=lambda: Pool("writing", 4))
    storing: Pool = field(default_factory=lambda: Pool("storing", 16))
    sealing: Pool = field(default_factory=lambda: Pool("sealing", 4))
    probing: Pool = field(default_factory=lambda: Pool("probing", 8))

    def close(self) -> None:
        """Let all threads end after their current work."""
        for pool in (self.entering, self.writing, self.storing, self.sealing, self.probing):
            pool.close()
