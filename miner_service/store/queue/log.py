"""Lines that the runs of a job leave for whoever runs the study."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Session

from miner_service.store.schema import JobLogRow, JobRow

_LONGEST = 500


def add_line(
    session: Session, row: JobRow, line: str, now: datetime, attempt: int | None = None
) -> None:
    """Add a line to the log of a job, which is a change of it; of its last run if none is said."""
    row.revision += 1
    session.add(
        JobLogRow(
            job=row.id,
            attempt=attempt or row.attempt,
            revision=row.revision,
            at=now,
            line=line[:_LONGEST],
        )
    )
