"""Jobs and the events of their progress."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Annotated

from fastapi import Header, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from sqlalchemy import select
from starlette.types import Receive, Scope, Send

from miner_service.http.access.access import Caller, still_good, visible_job
from miner_service.http.access.deps import (
    CallerDep,
    CrewDep,
    GateDep,
    JobPath,
    PagingDep,
    ServicesDep,
    StudyPath,
)
from miner_service.http.access.gate import Gate
from miner_service.http.access.problems import RETRY_SECONDS, there
from miner_service.http.access.routing import RuledRouter
from miner_service.jobs import creating as jobs
from miner_service.jobs.workers import WorkerPool
from miner_service.services import Services
from miner_service.store.database import page_of
from miner_service.store.jobs import UNFINISHED, job_message, last_lines, line_message, lines_since
from miner_service.store.schema import JobLogRow, JobRow
from pramana_core.errors import NotFound, NotReady
from pramana_core.wire.base import Page
from pramana_core.wire.jobs import Job, JobCreate, JobLine

router = RuledRouter(tags=["jobs"])

EVENT_MEDIA_TYPE = "text/event-stream"
_HEARTBEAT_LOOKUPS = 75
_EVENT = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("id", "event", "data")},
    "required": ["id", "event", "data"],
}


@router.post("/studies/{study}/jobs", status_code=202, responses=there(Job))
def create_job(
    study: StudyPath,
    body: JobCreate,
    services: ServicesDep,
    crew: CrewDep,
    response: Response,
) -> Job:
    """Create a job on the releases in use now."""
    job, to_run = jobs.create(services, study, body)
    if to_run:
        crew.wake()
    response.status_code = 202 if to_run else 200
    response.headers["Location"] = f"/v1/jobs/{job.id}"
    _advise(response, job)
    return job


@router.get("/studies/{study}/jobs")
def list_jobs(
    study: StudyPath, services: ServicesDep, caller: CallerDep, paging: PagingDep
) -> Page[Job]:
    """List a study's jobs; an owner sees of a failure only its kind."""
    with services.database.read() as session:
        query = caller.visible_jobs(select(JobRow).where(JobRow.study == study))
        return page_of(
            session,
            query,
            JobRow.seq,
            paging,
            lambda row: caller.view_job(session, job_message(session, row, services.now())),
        )


@router.get("/jobs/{job}")
def read_job(job: JobPath, services: ServicesDep, caller: CallerDep, response: Response) -> Job:
    """Read a job; `Retry-After` says when to look again.

    An owner sees of a failure only its kind.
    """
    message = _look(services, caller, job).job
    _advise(response, message)
    return message


@router.delete("/jobs/{job}")
def cancel_job(job: JobPath, services: ServicesDep, crew: CrewDep) -> Job:
    """Cancel a job; a finished one stays as it is."""
    cancelled = jobs.cancel(services, job)
    crew.wake()
    return cancelled


@router.get("/jobs/{job}/log")
def read_job_log(job: JobPath, services: ServicesDep, paging: PagingDep) -> Page[JobLine]:
    """Read what the runs of a job left for whoever runs the study."""
    with services.database.read() as session:
        query = select(JobLogRow).where(JobLogRow.job == job)
        return page_of(session, query, JobLogRow.seq, paging, line_message)


@router.get(
    "/jobs/{job}/events",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "Server-sent events named `job`; the data of each is a Job, whose `log`"
            " has the lines since the event before. The id of each is the job's revision.",
            "content": {EVENT_MEDIA_TYPE: {"schema": _EVENT}},
        },
        204: {"description": "The job is finished, and its last event was received before."},
    },
)
async def stream_job_events(
    job: JobPath,
    services: ServicesDep,
    caller: CallerDep,
    crew: CrewDep,
    gate: GateDep,
    last_event_id: Annotated[
        str | None,
        Header(alias="Last-Event-ID", description="The `id` of the last event received."),
    ] = None,
) -> Response:
    """Follow a job until it is finished, from where the last event left off."""
    known = re.fullmatch(r"[0-9]{1,18}", last_event_id or "")
    since = int(known[0]) if known else None
    first = await run_in_threadpool(_look, services, caller, job, since)
    if first.finished and first.revision == since:
        return Response(status_code=204)
    events = _events(
        lambda r: _again(services, caller, job, r), first, since, _looks(services, job), crew
    )
    return _EventStream(gate, caller.token, events)


class _EventStream(StreamingResponse):
    """A stream of events, counted among those of its token from its first to its last byte."""

    def __init__(self, gate: Gate, token: str, events: AsyncIterator[str]) -> None:
        super().__init__(events, media_type=EVENT_MEDIA_TYPE, headers={"Cache-Control": "no-store"})
        self._gate, self._token = gate, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events. Raises TooManyRequests."""
        with self._gate.streaming(self._token):
            await super().__call__(scope, receive, send)


@dataclass(frozen=True)
class _JobSnapshot:
    """A job as its follower may see it, and at which revision."""

    job: Job
    revision: int

    @property
    def finished(self) -> bool:
        return self.job.state not in UNFINISHED

    def event(self) -> str:
        """Return it as an event."""
        data = self.job.model_dump_json()
        return f"id: {self.revision}\nevent: job\ndata: {data}\n\n"


async def _events(
    look: Callable[[int], _JobSnapshot | None],
    seen: _JobSnapshot,
    since: int | None,
    changes: AsyncGenerator[int | None, None],
    crew: WorkerPool,
) -> AsyncIterator[str]:
    """Yield an event per change; comments in between keep proxies from closing the line."""
    if seen.revision != since:
        yield seen.event()
    if seen.finished:
        return
    silent = 0
    async with aclosing(changes) as looks:
        async for revision in looks:
            if crew.stopping:
                return
            silent += 1
            changed = revision is not None and revision != seen.revision
            if not changed and silent % _HEARTBEAT_LOOKUPS:
                continue
            again = await run_in_threadpool(look, seen.revision)
            if again is None:
                return
            if again.revision == seen.revision:
                yield ": still there\n\n"
                continue
            seen, silent = again, 0
            yield seen.event()
            if seen.finished:
                return


async def _looks(services: Services, job: str) -> AsyncGenerator[int | None, None]:
    """Yield the revision of a job again and again; None where it is not known."""

    def revision() -> int | None:
        with suppress(NotReady), services.database.read() as session:
            return session.scalar(select(JobRow.revision).where(JobRow.id == job))
        return None

    while True:
        await asyncio.sleep(services.settings.event_seconds)
        yield await run_in_threadpool(revision)


def _look(services: Services, caller: Caller, job: str, since: int | None = None) -> _JobSnapshot:
    """Return a job with the lines of its log since a revision, or else the last ones."""
    with services.database.read() as session:
        row = visible_job(session, caller, job)
        known = since is not None and since <= row.revision
        lines = lines_since(session, row, since or 0) if known else last_lines(session, row)
        message = job_message(session, row, services.now(), lines)
        return _JobSnapshot(caller.view_job(session, message), row.revision)


def _again(services: Services, caller: Caller, job: str, since: int) -> _JobSnapshot | None:
    """Return a followed job; None where it is gone, or its follower may not see it any more."""
    with services.database.read() as session:
        good = still_good(session, caller, services.now())
    try:
        return _look(services, caller, job, since) if good else None
    except NotFound:
        return None


def _advise(response: Response, job: Job) -> None:
    if job.state in UNFINISHED:
        response.headers["Retry-After"] = str(RETRY_SECONDS)
