"""Rows of jobs and models. A job is a row first and a computation second."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from miner_service.store.people import no_such
from miner_service.store.releases import inconsistent
from miner_service.store.schema import JobRow, ModelRow, ReleaseRow
from miner_service.store.tokens import new_id
from shared.errors import Conflict
from shared.wire.learning.jobs import Job, JobSpec, read_job_spec
from shared.wire.problems import ProblemDetail

UNFINISHED = ("queued", "running")

MOST_BROKEN_OFF = 3
"""After this many runs in a row that took the service down with them, a job is given up."""


def job_message(session: Session, row: JobRow) -> Job:
    """Return a job as the outside sees it."""
    used = select(ReleaseRow).where(ReleaseRow.id.in_(json.loads(row.releases)))
    return Job.model_validate(
        {
            "id": row.id,
            "study": row.study,
            "key": row.key,
            "spec": read_job_spec(row.spec),
            "state": row.state,
            "progress": row.progress,
            "model": row.model,
            "problem": ProblemDetail.model_validate_json(row.problem) if row.problem else None,
            "created": row.created,
            "finished": row.finished,
            "inconsistent": inconsistent(session.scalars(used)),
        }
    )


def find_job(session: Session, identifier: str) -> JobRow:
    """Return a job. Raises NotFound."""
    row = session.scalar(select(JobRow).where(JobRow.id == identifier))
    if row is None:
        raise no_such("job")
    return row


def job_by_key(session: Session, study: str, key: str) -> JobRow | None:
    """Return the job that has a key."""
    return session.scalar(select(JobRow).where(JobRow.study == study, JobRow.key == key))


def find_model(session: Session, identifier: str) -> ModelRow:
    """Return a model. Raises NotFound."""
    row = session.scalar(select(ModelRow).where(ModelRow.id == identifier))
    if row is None:
        raise no_such("model")
    return row


def create_job(
    session: Session,
    *,
    study: str,
    key: str,
    default_key: bool,
    spec: JobSpec,
    releases: Sequence[str],
    now: datetime,
) -> tuple[JobRow, bool]:
    """Queue a job, or find the same one made before; say whether it is to run.

    A job under its default key that failed or was cancelled is queued again, on the releases in
    use now: they have the same content, but the ones it had before may be withdrawn.

    Raises:
        Conflict: the key belongs to a job with another specification.
    """
    row = job_by_key(session, study, key)
    if row is None:
        row = JobRow(
            id=new_id("j"),
            study=study,
            key=key,
            default_key=default_key,
            spec=spec.model_dump_json(),
            records=getattr(spec, "records", None),
            estimator=getattr(spec, "estimator", None),
            releases=json.dumps(list(releases)),
            state="queued",
            attempt=1,
            broken_off=0,
            progress=0.0,
            created=now,
        )
        session.add(row)
        session.flush()
        return row, True
    if read_job_spec(row.spec) != spec:
        raise Conflict(
            f"The key {key} belongs to a job with another specification; it is unchanged.",
            where="key",
            remedy="Use another key, or none.",
        )
    if default_key and row.state in ("failed", "cancelled"):
        row.releases = json.dumps(list(releases))
        row.broken_off = 0
        _queue_again(row)
        return row, True
    return row, False


def claim_next(session: Session) -> JobRow | None:
    """Mark the oldest queued job as running and return it."""
    query = select(JobRow).where(JobRow.state == "queued").order_by(JobRow.seq).limit(1)
    row = session.scalar(query)
    if row is not None:
        row.state = "running"
    return row


def requeue_running(session: Session, given_up: ProblemDetail, now: datetime) -> None:
    """Queue again the jobs that ran when the service ended.

    One of which that is true `MOST_BROKEN_OFF` times in a row may be the cause of it, and fails.
    """
    for row in session.scalars(select(JobRow).where(JobRow.state == "running")):
        row.broken_off += 1
        if row.broken_off < MOST_BROKEN_OFF:
            _queue_again(row)
        else:
            finish(row, "failed", now, problem=given_up)


def give_back(row: JobRow) -> None:
    """Queue a running job that stopped because the service was asked to end."""
    row.broken_off = 0
    _queue_again(row)


def running_attempt(session: Session, identifier: str, attempt: int) -> JobRow | None:
    """Return a job if this attempt at it is still wanted."""
    query = select(JobRow).where(
        JobRow.id == identifier, JobRow.attempt == attempt, JobRow.state == "running"
    )
    return session.scalar(query)


def finish(row: JobRow, state: str, now: datetime, *, problem: ProblemDetail | None = None) -> None:
    """End a job without a model."""
    row.state = state
    row.finished = now
    row.problem = problem.model_dump_json() if problem else None


def succeed(session: Session, row: JobRow, *, kind: str, body: str, now: datetime) -> None:
    """Store a job's model and end the job, in one transaction."""
    told = json.loads(body)
    tests = told.get("lack_of_fit")
    row.model = model_id(row.id)
    row.state = "succeeded"
    row.progress = 1.0
    row.problem = None
    row.finished = now
    session.add(
        ModelRow(
            id=row.model,
            study=row.study,
            job=row.id,
            kind=kind,
            body=body,
            created=now,
            holds_releases=bool(told.get("holds_releases")),
            lack_of_fit=json.dumps(tests) if tests else None,
        )
    )


def model_id(job: str) -> str:
    """Return the id of the model a job makes: running it again makes the same model."""
    return "m-" + job.removeprefix("j-")


def fail_jobs_on(session: Session, release: str, problem: ProblemDetail, now: datetime) -> None:
    """End the unfinished jobs that were to use a release."""
    for row in session.scalars(select(JobRow).where(JobRow.state.in_(UNFINISHED))):
        if release in json.loads(row.releases):
            finish(row, "failed", now, problem=problem)


def drop_models_with(session: Session, release: str, problem: ProblemDetail, now: datetime) -> None:
    """Delete the models that have what a release held in them; their jobs have failed."""
    found = select(ModelRow, JobRow).join(JobRow, JobRow.id == ModelRow.job)
    for model, job in session.execute(found.where(ModelRow.holds_releases.is_(True))):
        if release in json.loads(job.releases):
            job.model = None
            finish(job, "failed", now, problem=problem)
            session.delete(model)


def _queue_again(row: JobRow) -> None:
    row.state = "queued"
    row.attempt += 1
    row.progress = 0.0
    row.problem = None
    row.finished = None
