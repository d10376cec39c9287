"""Threads for what takes long, apart from those that all short requests share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Pool:
    """At most so many threads; what finds none free waits in a queue, in order."""

    def __init__(self, name: str, threads: int) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name)

    def submit(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> asyncio.Future[T]:
        """Let work be done; return what to wait for."""
        future = self._threads.submit(work, *args, **kwargs)
        return asyncio.wrap_future(future)

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do work, and return what it returns."""
        return await self.submit(work, *args, **kwargs)

    def close(self) -> None:
        """Let the threads end when they are done."""
        self._threads.shutdown(wait=False)


@dataclass(frozen=True)
class Pools:
    """The threads of one service.

    Attributes:
        entering: tokens that are looked up. They are few: each thread that computes is one more
            that the loop, which answers all, may have to wait for.
        writing: bodies that arrive, block by block.
        storing: parts that arrived; these wait for the disk.
        sealing: releases, which takes up to minutes.
    """

    entering: Pool = field(default_factory=lambda: Pool("entering", 4))
    writing: Pool = field(default_factory=lambda: Pool("writing", 4))
    storing: Pool = field(default_factory=lambda: Pool("storing", 16))
    sealing: Pool = field(default_factory=lambda: Pool("sealing", 4))

    def close(self) -> None:
        """Let all threads end when they are done."""
        for pool in (self.entering, self.writing, self.storing, self.sealing):
            pool.close()
