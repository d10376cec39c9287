"""Threads for what takes long, apart from those that all short requests share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import ParamSpec, TypeVar

from pramana_core.errors import NotReady

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
