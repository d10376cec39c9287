"""Rows of jobs and models. A job is a row first and a computation second."""

from __future__ import annotations

import json

from sqlalchemy import select
from sqlalchemy.orm import Session

from miner_service.store.people import no_such
from miner_service.store.releases import inconsistent
from miner_service.store.schema import JobRow, ModelRow, ReleaseRow
from shared.wire.learning.jobs import Job, read_job_spec
from shared.wire.problems import ProblemDetail


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
