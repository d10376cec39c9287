"""Routes of jobs: create, list, read, rename, cancel."""

from __future__ import annotations

from fastapi import Response
from sqlalchemy import select

from miner_service.http.access.deps import (
    CallerDep,
    CrewDep,
    JobPath,
    PagingDep,
    ServicesDep,
    StudyPath,
)
from miner_service.http.access.problems import RETRY_SECONDS, found_before
from miner_service.http.access.routing import RuledRouter
from miner_service.jobs import creating as jobs
from miner_service.store.jobs import find_job, job_message, last_lines
from miner_service.store.paging import page_of
from miner_service.store.queue import UNFINISHED
from miner_service.store.schema import JobRow
from pramana_core.wire.base import Page
from pramana_core.wire.jobs import Job, JobCreate, JobName

router = RuledRouter(tags=["jobs"])


@router.post("/studies/{study}/jobs", status_code=202, responses=found_before(Job))
def create_job(
    study: StudyPath,
    body: JobCreate,
    services: ServicesDep,
    crew: CrewDep,
    response: Response,
) -> Job:
    """Create a job on the current releases in use."""
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
    """List a study's jobs. An owner sees only the kind of a failure."""
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
    """Read a job; `Retry-After` gives the time until the next look.

    An owner sees only the kind of a failure.
    """
    with services.database.read() as session:
        row = find_job(session, job)
        message = job_message(session, row, services.now(), last_lines(session, row))
        message = caller.view_job(session, message)
    _advise(response, message)
    return message


@router.put("/jobs/{job}/name")
def rename_job(job: JobPath, body: JobName, services: ServicesDep) -> Job:
    """Rename a job and its model."""
    return jobs.rename(services, job, body.name)


@router.delete("/jobs/{job}")
def cancel_job(job: JobPath, services: ServicesDep, crew: CrewDep) -> Job:
    """Cancel a job; a finished job does not change."""
    cancelled = jobs.cancel(services, job)
    crew.wake()
    return cancelled


def _advise(response: Response, job: Job) -> None:
    if job.state in UNFINISHED:
        response.headers["Retry-After"] = str(RETRY_SECONDS)
