"""Rows of jobs and models: finding them, creating them, their messages and logs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from miner_service.store.credentials import new_id
from miner_service.store.people import no_such
from miner_service.store.queue import add_line, queue_again
from miner_service.store.releases import inconsistent
from miner_service.store.schema import JobLogRow, JobRow, ModelRow, ReleaseRow
from pramana_core.errors import Conflict, LimitExceeded
from pramana_core.wire.jobs import LOG_LINES, Job, JobLine, JobSpec, read_job_spec
from pramana_core.wire.services import ProblemDetail


def job_message(session: Session, row: JobRow, now: datetime, log: Sequence[JobLogRow] = ()) -> Job:
    """Return a job as API message, with the given lines of its log."""
    used = select(ReleaseRow).where(ReleaseRow.id.in_(json.loads(row.releases)))
    return Job.model_validate(
        {
            "id": row.id,
            "study": row.study,
            "key": row.key,
            "name": row.name,
            "spec": read_job_spec(row.spec),
            "state": row.state,
            "progress": row.progress,
            "model": row.model,
            "problem": ProblemDetail.model_validate_json(row.problem) if row.problem else None,
            "created": row.created,
            "finished": row.finished,
            "inconsistent": inconsistent(session.scalars(used)),
            "started": row.started,
            "seconds_left": _seconds_left(row, now),
            "worker": row.lease,
            "runs": row.attempt,
            "log": [JobLine(run=line.attempt, at=line.at, line=line.line) for line in log],
        }
    )


def last_lines(session: Session, row: JobRow) -> list[JobLogRow]:
    """Return the last lines of a job's log, oldest first."""
    query = select(JobLogRow).where(JobLogRow.job == row.id).order_by(JobLogRow.seq.desc())
    return list(session.scalars(query.limit(LOG_LINES)))[::-1]


def _seconds_left(row: JobRow, now: datetime) -> float | None:
    if row.state != "running" or row.started is None or not row.progress:
        return None
    ran = max((now - row.started).total_seconds(), 0.0)
    return ran * (1 - row.progress) / row.progress


def find_job(session: Session, identifier: str) -> JobRow:
    """Return the job with this id. Raises NotFound."""
    row = session.scalar(select(JobRow).where(JobRow.id == identifier))
    if row is None:
        raise no_such("job")
    return row


def job_by_key(session: Session, study: str, key: str) -> JobRow | None:
    """Return the job with this key, or None."""
    return session.scalar(select(JobRow).where(JobRow.study == study, JobRow.key == key))


def find_model(session: Session, identifier: str) -> ModelRow:
    """Return the model with this id. Raises NotFound."""
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
    name: str,
    spec: JobSpec,
    releases: Sequence[str],
    most_queued: int,
    now: datetime,
) -> tuple[JobRow, bool]:
    """Queue a job, or find the existing one. Return its row and whether it was queued.

    A failed or cancelled job is queued again if it has its default key. Raises Conflict,
    LimitExceeded.
    """
    row = job_by_key(session, study, key)
    if row is not None and read_job_spec(row.spec) != spec:
        raise Conflict(
            f"The key {key} belongs to a job with another specification. That job is unchanged.",
            where="key",
            remedy="Use another key, or omit the key.",
        )
    if row is not None and not (default_key and row.state in ("failed", "cancelled")):
        return row, False
    _require_room(session, study, most_queued)
    if row is None:
        row = JobRow(
            id=new_id("j"),
            study=study,
            key=key,
            default_key=default_key,
            name=name,
            spec=spec.model_dump_json(),
            state="queued",
            attempt=1,
            broken_off=0,
            progress=0.0,
            created=now,
            records=getattr(spec, "records", None),
            estimator=getattr(spec, "estimator", None),
            beat=0,
        )
        session.add(row)
    else:
        row.broken_off = 0
        queue_again(row)
    row.releases = json.dumps(list(releases))
    session.flush()
    add_line(session, row, "Queued.", now)
    return row, True


def _require_room(session: Session, study: str, most: int) -> None:
    waiting = select(func.count()).select_from(JobRow)
    queued = session.scalar(waiting.where(JobRow.study == study, JobRow.state == "queued")) or 0
    if queued >= most:
        raise LimitExceeded(
            f"Study {study} has {queued} queued jobs; the limit is {most}.",
            where="queued_jobs",
            remedy="Wait until some jobs end, or cancel some.",
        )
