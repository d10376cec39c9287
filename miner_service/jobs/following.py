"""Waiting for changes of jobs: one look at the store for all that a process follows."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import suppress

from fastapi.concurrency import run_in_threadpool
from sqlalchemy import select

from miner_service.services import Services
from miner_service.store.schema import JobRow
from pramana_core.errors import NotReady, TooManyRequests


class Followed:
    """The revisions of the jobs that somebody follows, looked up together while anybody does."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._jobs: Counter[str] = Counter()
        self._followers: Counter[str] = Counter()
        self._revisions: dict[str, int] = {}
        self._looked: asyncio.Event | None = None
        self._task: asyncio.Task[None] | None = None

    def require_share(self, token: str) -> None:
        """Check that the holder of a token may follow one more. Raises TooManyRequests."""
        most = self._services.settings.web.streams_per_token
        if self._followers[token] >= most:
            raise TooManyRequests(
                f"{most} streams of events are open with this token; more are not given.",
                where="token",
                remedy="Close one, or read the jobs every few seconds.",
            )

    async def looks(self, job: str, token: str) -> AsyncGenerator[int | None, None]:
        """Yield the revision of a job after each look; None where it is not known."""
        self._jobs[job] += 1
        self._followers[token] += 1
        try:
            while True:
                await self._next()
                yield self._revisions.get(job)
        finally:
            self._jobs[job] -= 1
            self._followers[token] -= 1
            self._jobs += Counter()
            self._followers += Counter()

    async def _next(self) -> None:
        """Wait for the next look, which is begun by whoever is the first to wait."""
        if self._task is None or self._task.done() or self._looked is None:
            self._looked = asyncio.Event()
            self._task = asyncio.create_task(self._look(self._looked))
        await self._looked.wait()

    async def _look(self, looked: asyncio.Event) -> None:
        try:
            await asyncio.sleep(self._services.settings.event_seconds)
            with suppress(NotReady):
                self._revisions = await run_in_threadpool(self._read, list(self._jobs))
        finally:
            self._looked = None
            looked.set()

    def _read(self, jobs: list[str]) -> dict[str, int]:
        query = select(JobRow.id, JobRow.revision).where(JobRow.id.in_(jobs))
        with self._services.database.read() as session:
            return {row.id: row.revision for row in session.execute(query)}
