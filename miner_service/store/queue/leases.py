"""Leases: which run of a job is whose, and what becomes of it when its holder is gone.

A run is told from others by the number of its attempt and by who holds the lease. Only the run
that the row names may change it, which is looked at in the transaction that changes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from miner_service.store.queue.log import add_line
from miner_service.store.queue.states import finish, queue_again, touch
from miner_service.store.schema import JobRow
from pramana_core.errors import WorkerLost
from pramana_core.wire.problems import ProblemDetail, problem_of

MOST_BROKEN_OFF = 3
"""After this many runs in a row that were broken off, a job is given up."""


@dataclass(frozen=True)
class Lease:
    """One run of a job, and who has it."""

    job: str
    attempt: int
    holder: str


def leased(session: Session, lease: Lease) -> JobRow | None:
    """Return the job of a run that is still wanted."""
    return session.scalar(
        select(JobRow).where(
            JobRow.id == lease.job,
            JobRow.attempt == lease.attempt,
            JobRow.lease == lease.holder,
            JobRow.state == "running",
        )
    )


def lease_to(session: Session, row: JobRow, holder: str, now: datetime) -> Lease:
    """Begin a run of a queued job."""
    row.state = "running"
    row.lease = holder
    row.started = row.heartbeat = now
    row.beat += 1
    add_line(session, row, f"Run {row.attempt} began.", now)
    return Lease(row.id, row.attempt, holder)


def wanted(session: Session, holder: str) -> set[Lease]:
    """Return the runs that are a holder's by their rows."""
    query = select(JobRow.id, JobRow.attempt).where(
        JobRow.state == "running", JobRow.lease == holder
    )
    return {Lease(job, attempt, holder) for job, attempt in session.execute(query)}


def beat(session: Session, leases: Iterable[Lease], now: datetime) -> None:
    """Give a sign of life of runs; those no longer wanted are left as they are."""
    for lease in leases:
        if (row := leased(session, lease)) is not None:
            row.beat += 1
            row.heartbeat = now


def note_progress(session: Session, lease: Lease, share: float, now: datetime) -> None:
    """Note which share of a run is done."""
    if (row := leased(session, lease)) is not None and row.progress != (share := min(share, 1.0)):
        row.progress = share
        row.heartbeat = now
        touch(row)


def give_back(session: Session, row: JobRow, why: str, now: datetime) -> None:
    """Queue a running job again that its holder can do nothing about: it had to end, or wait."""
    add_line(session, row, f"Given back: {why}", now)
    row.broken_off = 0
    queue_again(row)


def break_off(session: Session, row: JobRow, why: str, now: datetime) -> None:
    """Queue a running job again whose run was broken off; the third time in a row it fails."""
    row.broken_off += 1
    add_line(session, row, f"Broken off: {why}", now)
    if row.broken_off < MOST_BROKEN_OFF:
        queue_again(row)
    else:
        finish(session, row, "failed", now, problem=_given_up())


def take_back(session: Session, holder: str, now: datetime) -> None:
    """Queue again what ran when an earlier life of this holder ended, or what nobody holds."""
    query = select(JobRow).where(
        JobRow.state == "running", or_(JobRow.lease == holder, JobRow.lease.is_(None))
    )
    for row in session.scalars(query):
        break_off(session, row, "its worker's machine or supervisor ended.", now)


def signs(session: Session) -> dict[Lease, int]:
    """Return all runs with the count of their signs of life."""
    query = select(JobRow.id, JobRow.attempt, JobRow.lease, JobRow.beat).where(
        JobRow.state == "running"
    )
    return {
        Lease(job, attempt, holder or ""): beat
        for job, attempt, holder, beat in session.execute(query)
    }


def _given_up() -> ProblemDetail:
    return problem_of(
        WorkerLost(
            f"Its worker ended {MOST_BROKEN_OFF} times in a row in the middle of this job,"
            " which is not run again by itself.",
            remedy="Whoever runs the service should look at its log and its memory. Created again"
            " without a key of its own, the job runs again.",
        )
    )
