"""Rows of jobs and models. A job is a row first and a computation second."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from miner_service.store.people import no_such
from miner_service.store.releases import inconsistent
from miner_service.store.schema import JobLogRow, JobRow, ModelRow, ReleaseRow
from pramana_core.wire.learning.jobs import LOG_LINES, Job, JobLine, read_job_spec
from pramana_core.wire.problems import ProblemDetail


def job_message(session: Session, row: JobRow, now: datetime, log: Sequence[JobLogRow] = ()) -> Job:
    """Return a job as the outside sees it, with lines of its log."""
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
            "started": row.started,
            "heartbeat_age": _heartbeat_age(row, now),
            "seconds_left": _seconds_left(row, now),
            "predicted_seconds": row.predicted_seconds,
            "predicted_bytes": row.predicted_bytes,
            "worker": row.lease,
            "runs": row.attempt,
            "log": [line_message(line) for line in log],
        }
    )


def line_message(row: JobLogRow) -> JobLine:
    """Return a line of a job's log."""
    return JobLine(run=row.attempt, at=row.at, line=row.line)


def last_lines(session: Session, row: JobRow) -> list[JobLogRow]:
    """Return the last lines of a job's log, in their order."""
    query = select(JobLogRow).where(JobLogRow.job == row.id).order_by(JobLogRow.seq.desc())
    return list(session.scalars(query.limit(LOG_LINES)))[::-1]


def lines_since(session: Session, row: JobRow, revision: int) -> list[JobLogRow]:
    """Return the lines that a job's log got after one of its revisions."""
    query = select(JobLogRow).where(JobLogRow.job == row.id, JobLogRow.revision > revision)
    return list(session.scalars(query.order_by(JobLogRow.seq)))


def _heartbeat_age(row: JobRow, now: datetime) -> float | None:
    if row.state != "running" or row.heartbeat is None:
        return None
    return max((now - row.heartbeat).total_seconds(), 0.0)


def _seconds_left(row: JobRow, now: datetime) -> float | None:
    """Return how long a run may still take: at its speed so far, or else by what was predicted."""
    if row.state != "running" or row.started is None:
        return None
    ran = max((now - row.started).total_seconds(), 0.0)
    if row.progress > 0:
        return ran * (1 - row.progress) / row.progress
    return None if row.predicted_seconds is None else max(row.predicted_seconds - ran, 0.0)


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
