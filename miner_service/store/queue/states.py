"""From queued to the end: how the row of a job changes its state."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from miner_service.store.queue.log import add_line
from miner_service.store.schema import JobRow, ModelRow
from pramana_core.wire.problems import ProblemDetail

UNFINISHED = ("queued", "running")


def touch(row: JobRow) -> None:
    """Note that something changed that a reader can see."""
    row.revision += 1


def finish(
    session: Session,
    row: JobRow,
    state: str,
    now: datetime,
    *,
    problem: ProblemDetail | None = None,
) -> None:
    """End a job without a model."""
    row.state = state
    row.finished = now
    row.problem = problem.model_dump_json() if problem else None
    row.lease = None
    why = f": {problem.detail}" if problem else "."
    add_line(session, row, f"{state.capitalize()}{why}", now)


@dataclass(frozen=True)
class Made:
    """A model as its row holds it: its kind, its JSON, and what of that is looked up."""

    kind: str
    body: str
    holds_releases: bool
    lack_of_fit: str | None


def succeed(session: Session, row: JobRow, made: Made, now: datetime) -> None:
    """Store a job's model and end the job, in one transaction."""
    row.model = model_id(row.id)
    row.progress = 1.0
    session.add(ModelRow(id=row.model, study=row.study, job=row.id, created=now, **asdict(made)))
    finish(session, row, "succeeded", now)


def model_id(job: str) -> str:
    """Return the id of the model a job makes: running it again makes the same model."""
    return "m-" + job.removeprefix("j-")


def queue_again(row: JobRow) -> None:
    """Put a job back into the queue, as another attempt."""
    row.state = "queued"
    row.attempt += 1
    row.progress = 0.0
    row.problem = None
    row.finished = None
    row.lease = None
    touch(row)


def fail_jobs_on(session: Session, release: str, problem: ProblemDetail, now: datetime) -> None:
    """End the unfinished jobs that were to use a release."""
    for row in session.scalars(select(JobRow).where(JobRow.state.in_(UNFINISHED))):
        if release in json.loads(row.releases):
            finish(session, row, "failed", now, problem=problem)


def drop_models_with(session: Session, release: str, problem: ProblemDetail, now: datetime) -> None:
    """Delete the models that have what a release held in them; their jobs have failed."""
    found = select(ModelRow, JobRow).join(JobRow, JobRow.id == ModelRow.job)
    for model, job in session.execute(found.where(ModelRow.holds_releases.is_(True))):
        if release in json.loads(job.releases):
            job.model = None
            finish(session, job, "failed", now, problem=problem)
            session.delete(model)
