"""Jobs and the events of their progress."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from fastapi import Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from sqlalchemy import select

from miner_service.http.access.access import Caller, visible_job
from miner_service.http.access.deps import (
    CallerDep,
    CrewDep,
    JobPath,
    PagingDep,
    ServicesDep,
    StudyPath,
)
from miner_service.http.access.entering import RuledRouter
from miner_service.http.access.problems import RETRY_SECONDS, problem_responses
from miner_service.jobs import creating as jobs
from miner_service.jobs.crew import Crew
from miner_service.services import Services
from miner_service.store.jobs import job_message
from miner_service.store.paging import page_of
from miner_service.store.queue.states import UNFINISHED
from miner_service.store.schema import JobRow
from shared.wire.base import Page
from shared.wire.learning.jobs import Job, JobCreate

router = RuledRouter(tags=["jobs"])

EVENT_MEDIA_TYPE = "text/event-stream"
_HEARTBEAT_LOOKUPS = 75
_EVENT = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("id", "event", "data")},
    "required": ["id", "event", "data"],
}


@router.post(
    "/studies/{study}/jobs",
    status_code=202,
    responses={200: {"model": Job, "description": "It was there."}, **problem_responses(409)},
)
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
            lambda row: caller.view_job(session, job_message(session, row)),
        )


@router.get("/jobs/{job}")
def read_job(job: JobPath, services: ServicesDep, caller: CallerDep, response: Response) -> Job:
    """Read a job; `Retry-After` says when to look again.

    An owner sees of a failure only its kind.
    """
    message = _visible(services, caller, job)
    _advise(response, message)
    return message


@router.delete("/jobs/{job}")
def cancel_job(job: JobPath, services: ServicesDep, crew: CrewDep) -> Job:
    """Cancel a job; a finished one stays as it is."""
    cancelled = jobs.cancel(services, job)
    crew.wake()
    return cancelled


@router.get(
    "/jobs/{job}/events",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "Server-sent events named `job`; the data of each is a Job.",
            "content": {EVENT_MEDIA_TYPE: {"schema": _EVENT}},
        }
    },
)
async def stream_job_events(
    job: JobPath, services: ServicesDep, caller: CallerDep, crew: CrewDep
) -> StreamingResponse:
    """Follow a job until it is finished."""
    first = await run_in_threadpool(_visible, services, caller, job)
    return StreamingResponse(
        _events(services, caller, first, crew),
        media_type=EVENT_MEDIA_TYPE,
        headers={"Cache-Control": "no-store"},
    )


async def _events(services: Services, caller: Caller, job: Job, crew: Crew) -> AsyncIterator[str]:
    """Yield an event per change; comments in between keep proxies from closing the line."""
    number, silent = 0, 0
    yield _event(number, job)
    while job.state in UNFINISHED and not crew.stopping:
        await asyncio.sleep(services.settings.event_seconds)
        now = await run_in_threadpool(_visible, services, caller, job.id)
        silent += 1
        if now != job:
            job, number, silent = now, number + 1, 0
            yield _event(number, job)
        elif silent % _HEARTBEAT_LOOKUPS == 0:
            yield ": still there\n\n"


def _event(number: int, job: Job) -> str:
    return f"id: {number}\nevent: job\ndata: {job.model_dump_json()}\n\n"


def _visible(services: Services, caller: Caller, job: str) -> Job:
    with services.database.read() as session:
        return caller.view_job(session, job_message(session, visible_job(session, caller, job)))


def _advise(response: Response, job: Job) -> None:
    if job.state in UNFINISHED:
        response.headers["Retry-After"] = str(RETRY_SECONDS)
