"""Queueing a job, or finding the same one that was made before."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from miner_service.store.jobs import job_by_key
from miner_service.store.people import new_id
from miner_service.store.queue.leases import add_line, queue_again
from miner_service.store.schema import JobRow
from pramana_core.errors import Conflict, QuotaExceeded
from pramana_core.wire.learning.jobs import JobSpec, read_job_spec


def create_job(
    session: Session,
    *,
    study: str,
    key: str,
    default_key: bool,
    spec: JobSpec,
    releases: Sequence[str],
    most_queued: int,
    now: datetime,
    predicted_seconds: float | None = None,
    predicted_bytes: float | None = None,
) -> tuple[JobRow, bool]:
    """Queue a job, or find the same one made before; say whether it is to run.

    A job under its default key that failed or was cancelled is queued again, on the releases in
    use now: they have the same content, but the ones it had before may be withdrawn.

    Raises:
        Conflict: the key belongs to a job with another specification.
        QuotaExceeded: as many jobs of the study wait as may.
    """
    row = job_by_key(session, study, key)
    if row is not None and read_job_spec(row.spec) != spec:
        raise Conflict(
            f"The key {key} belongs to a job with another specification; it is unchanged.",
            where="key",
            remedy="Use another key, or none.",
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
            spec=spec.model_dump_json(),
            state="queued",
            attempt=1,
            broken_off=0,
            progress=0.0,
            created=now,
            records=getattr(spec, "records", None),
            estimator=getattr(spec, "estimator", None),
            revision=0,
            beat=0,
        )
        session.add(row)
    else:
        row.broken_off = 0
        queue_again(row)
    row.releases = json.dumps(list(releases))
    row.predicted_seconds, row.predicted_bytes = predicted_seconds, predicted_bytes
    session.flush()
    add_line(session, row, "Queued.", now)
    return row, True


def _require_room(session: Session, study: str, most: int) -> None:
    """Check that a study may queue another job. Raises QuotaExceeded."""
    waiting = select(func.count()).select_from(JobRow)
    queued = session.scalar(waiting.where(JobRow.study == study, JobRow.state == "queued")) or 0
    if queued >= most:
        raise QuotaExceeded(
            f"{queued} jobs of study {study} wait to be run; {most} may.",
            where="queued_jobs",
            remedy="Wait until some have ended, or cancel some.",
        )
