"""The queue of jobs: choosing the next job, leases, signs of life, and ends of runs."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from sqlalchemy import delete, event, func, or_, select
from sqlalchemy.orm import Session

from miner_service.store.schema import JobLogRow, JobRow, ModelRow, SupervisorRow
from pramana_core.errors import WorkerLost
from pramana_core.wire.services import ProblemDetail, problem_of

log = logging.getLogger("miner_service.jobs")

_LONGEST = 500


def add_line(session: Session, row: JobRow, line: str, now: datetime) -> None:
    """Add a line to the log of a job's last run, and to this process's log."""
    session.add(JobLogRow(job=row.id, attempt=row.attempt, at=now, line=line[:_LONGEST]))
    fields = {"job": row.id, "run": row.attempt, "study": row.study, "event": line[:_LONGEST]}

    @event.listens_for(session, "after_commit", once=True)
    def _committed(_session: Session) -> None:
        log.info("job", extra=fields)


UNFINISHED = ("queued", "running")


def queue_again(row: JobRow) -> None:
    """Put a job back into the queue as a new attempt."""
    row.state = "queued"
    row.attempt += 1
    row.progress = 0.0
    row.problem = None
    row.finished = None
    row.lease = None


def finish(
    session: Session,
    row: JobRow,
    state: str,
    now: datetime,
    *,
    problem: ProblemDetail | None = None,
) -> None:
    """End a job without a model: as failed or cancelled."""
    row.state = state
    row.finished = now
    row.problem = problem.model_dump_json() if problem else None
    row.lease = None
    why = f": {problem.detail}" if problem else "."
    add_line(session, row, f"{state.capitalize()}{why}", now)


@dataclass(frozen=True)
class FinishedModel:
    """A model to store: its kind, its JSON, and the fields by which it is found."""

    kind: str
    body: str
    holds_releases: bool
    lack_of_fit: str | None
    verdict: str


def succeed(session: Session, row: JobRow, made: FinishedModel, now: datetime) -> None:
    """Store a job's model and end the job, in one transaction."""
    row.model = model_id(row.id)
    row.progress = 1.0
    own = {"id": row.model, "study": row.study, "job": row.id, "name": row.name, "created": now}
    session.add(ModelRow(**own, **asdict(made)))
    finish(session, row, "succeeded", now)


def model_id(job: str) -> str:
    """Return the id of a job's model, which is the same if the job runs again."""
    return "m-" + job.removeprefix("j-")


def fail_jobs_on(session: Session, release: str, problem: ProblemDetail, now: datetime) -> None:
    """Fail the unfinished jobs that use a release."""
    for row in session.scalars(select(JobRow).where(JobRow.state.in_(UNFINISHED))):
        if release in json.loads(row.releases):
            finish(session, row, "failed", now, problem=problem)


def drop_models_with(session: Session, release: str, problem: ProblemDetail, now: datetime) -> None:
    """Delete the models that contain a release, and record their jobs as failed."""
    found = select(ModelRow, JobRow).join(JobRow, JobRow.id == ModelRow.job)
    for model, job in session.execute(found.where(ModelRow.holds_releases.is_(True))):
        if release in json.loads(job.releases):
            job.model = None
            finish(session, job, "failed", now, problem=problem)
            session.delete(model)


MOST_BROKEN_OFF = 3
"""Interrupted runs in a row after which a job fails."""


@dataclass(frozen=True)
class Lease:
    """A supervisor's right to one run of a job."""

    job: str
    attempt: int
    holder: str


def leased(session: Session, lease: Lease) -> JobRow | None:
    """Return the job of a run; None if the run should not continue."""
    return session.scalar(
        select(JobRow).where(
            JobRow.id == lease.job,
            JobRow.attempt == lease.attempt,
            JobRow.lease == lease.holder,
            JobRow.state == "running",
        )
    )


def wanted(session: Session, holder: str) -> set[Lease]:
    """Return the runs that a supervisor should continue, according to the rows."""
    query = select(JobRow.id, JobRow.attempt).where(
        JobRow.state == "running", JobRow.lease == holder
    )
    return {Lease(job, attempt, holder) for job, attempt in session.execute(query)}


def beat(session: Session, leases: Iterable[Lease]) -> None:
    """Record a sign of life for each run that should continue."""
    for lease in leases:
        if (row := leased(session, lease)) is not None:
            row.beat += 1


def note_progress(session: Session, lease: Lease, share: float) -> None:
    """Store the share of a run that is done."""
    if (row := leased(session, lease)) is not None and row.progress != (share := min(share, 1.0)):
        row.progress = share


def give_back(session: Session, row: JobRow, why: str, now: datetime) -> None:
    """Queue a job again whose run its supervisor stopped, and reset its count of interruptions."""
    add_line(session, row, f"Given back: {why}", now)
    row.broken_off = 0
    queue_again(row)


def break_off(session: Session, row: JobRow, why: str, now: datetime) -> None:
    """Queue a job again after an interrupted run, or fail it after the third in a row."""
    row.broken_off += 1
    add_line(session, row, f"Broken off: {why}", now)
    if row.broken_off < MOST_BROKEN_OFF:
        queue_again(row)
    else:
        error = WorkerLost(
            f"The worker ended {MOST_BROKEN_OFF} times in a row during this job. The job is not"
            " repeated automatically.",
            remedy="The operator should check the service's log and memory. To run the job again,"
            " create it again without a key.",
        )
        finish(session, row, "failed", now, problem=problem_of(error))


def take_back(session: Session, holder: str, now: datetime) -> None:
    """Queue again the jobs that have no supervisor, or that this one ran before it restarted."""
    query = select(JobRow).where(
        JobRow.state == "running", or_(JobRow.lease == holder, JobRow.lease.is_(None))
    )
    for row in session.scalars(query):
        break_off(session, row, "its worker's machine or supervisor ended.", now)


def signs(session: Session) -> dict[Lease, int]:
    """Return all runs, each with its counter of signs of life."""
    query = select(JobRow.id, JobRow.attempt, JobRow.lease, JobRow.beat).where(
        JobRow.state == "running"
    )
    return {
        Lease(job, attempt, holder or ""): beat
        for job, attempt, holder, beat in session.execute(query)
    }


def claim_next(session: Session, holder: str, now: datetime) -> Lease | None:
    """Start the next queued job and return its lease, or None."""
    row = next_job(session)
    if row is None:
        return None
    row.state, row.lease, row.started = "running", holder, now
    row.beat += 1
    add_line(session, row, f"Run {row.attempt} began.", now)
    return Lease(row.id, row.attempt, holder)


def next_job(session: Session) -> JobRow | None:
    """Return the next job: the oldest one of the study with the fewest running jobs."""
    running = Counter(session.scalars(select(JobRow.study).where(JobRow.state == "running")))
    waiting = select(JobRow.study).where(JobRow.state == "queued").distinct()
    served = session.execute(
        select(JobRow.study, func.max(JobRow.started), func.min(JobRow.seq))
        .where(JobRow.study.in_(waiting))
        .group_by(JobRow.study)
    ).all()
    if not served:
        return None
    never = datetime.min.replace(tzinfo=UTC)
    study, *_ = min(served, key=lambda one: (running[one[0]], one[1] or never, one[2]))
    queued = select(JobRow).where(JobRow.state == "queued", JobRow.study == study)
    return session.scalar(queued.order_by(JobRow.created, JobRow.seq).limit(1))


def show_up(session: Session, name: str, host: str, workers: int, now: datetime) -> None:
    """Record a sign of life of a supervisor, and add its row if it is missing."""
    row = session.get(SupervisorRow, name)
    if row is None:
        times = {"started": now, "beat": 1, "seen": now}
        session.add(SupervisorRow(name=name, host=host, workers=workers, **times))
    else:
        row.beat += 1
        row.seen = now


def leave(session: Session, name: str) -> None:
    """Delete a supervisor's row."""
    session.execute(delete(SupervisorRow).where(SupervisorRow.name == name))


def supervisor_signs(session: Session) -> dict[str, int]:
    """Return each supervisor's count of signs of life."""
    found = session.execute(select(SupervisorRow.name, SupervisorRow.beat))
    return {row.name: row.beat for row in found}
