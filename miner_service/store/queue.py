"""Who runs which job: jobs queued, their leases, whose turn it is, signs of life, lines of log.

A run is told from others by the number of its attempt and by who holds the lease. Only the run
that the row names may change it, which is looked at in the transaction that changes.

Also here:

* Lines that the runs of a job leave for whoever runs the study.
* From queued to the end: how the row of a job changes its state.
* Whose turn it is: fair between studies, and in the order of their creation within one.
* Queueing a job, or finding the same one that was made before.
* Rows of supervisors: who runs jobs on this database, on whatever machine.
* Rows of jobs and models as messages, found by their names.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import delete, func, or_, select
from sqlalchemy.orm import Session

from miner_service.store.people import new_id, no_such
from miner_service.store.releases import inconsistent
from miner_service.store.schema import (
    JobLogRow,
    JobRow,
    ModelRow,
    ReleaseRow,
    StudyRow,
    SupervisorRow,
)
from pramana_core.errors import Conflict, LimitExceeded, WorkerLost
from pramana_core.wire.jobs import LOG_LINES, Job, JobLine, JobSpec, read_job_spec
from pramana_core.wire.services import ProblemDetail, problem_of


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
    """Return how long a run may still take at its speed so far."""
    if row.state != "running" or row.started is None or not row.progress:
        return None
    ran = max((now - row.started).total_seconds(), 0.0)
    return ran * (1 - row.progress) / row.progress


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


# Lines that the runs of a job leave for whoever runs the study.

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


# From queued to the end: how the row of a job changes its state.

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
class FinishedModel:
    """A model as its row holds it: its kind, its JSON, and what of that is looked up."""

    kind: str
    body: str
    holds_releases: bool
    lack_of_fit: str | None


def succeed(session: Session, row: JobRow, made: FinishedModel, now: datetime) -> None:
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


# Whose turn it is: fair between studies, and in the order of their creation within one.
#
# The study with the fewest running jobs comes first, then the one that was served longest ago.
# With several workers and several studies no study alone can hold all of them.


def claim_next(session: Session, holder: str, workers: int, now: datetime) -> Lease | None:
    """Begin the job whose turn it is, if one may begin."""
    row = next_job(session, workers)
    return lease_to(session, row, holder, now) if row is not None else None


def next_job(session: Session, workers: int) -> JobRow | None:
    """Return the queued job whose turn it is of `workers` in all, if one may begin."""
    keep = workers - 1 if workers > 1 else None
    running = session.scalars(select(JobRow.study).where(JobRow.state == "running"))
    held = Counter(running)
    alone = keep is None or session.scalar(select(func.count()).select_from(StudyRow)) == 1
    for study in _turns(session, held):
        if not alone and held.get(study, 0) >= (keep or 0):
            continue
        queued = select(JobRow).where(JobRow.state == "queued", JobRow.study == study)
        return session.scalar(queued.order_by(JobRow.created, JobRow.seq).limit(1))
    return None


def _turns(session: Session, held: dict[str, int]) -> list[str]:
    """Return the studies with queued jobs in the order of their turns."""
    waiting = select(JobRow.study).where(JobRow.state == "queued").distinct()
    served = session.execute(
        select(JobRow.study, func.max(JobRow.started), func.min(JobRow.seq))
        .where(JobRow.study.in_(waiting))
        .group_by(JobRow.study)
    ).all()
    never = datetime.min.replace(tzinfo=UTC)

    def turn(one: Any) -> Any:
        study, last, first = one
        return held.get(study, 0), last or never, first

    return [study for study, *_ in sorted(served, key=turn)]


# Queueing a job, or finding the same one that was made before.


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
) -> tuple[JobRow, bool]:
    """Queue a job, or find the same one made before; say whether it is to run.

    A job under its default key that failed or was cancelled is queued again, on the releases in
    use now: they have the same content, but the ones it had before may be withdrawn.

    Raises:
        Conflict: the key belongs to a job with another specification.
        LimitExceeded: as many jobs of the study wait as may.
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
    session.flush()
    add_line(session, row, "Queued.", now)
    return row, True


def _require_room(session: Session, study: str, most: int) -> None:
    """Check that a study may queue another job. Raises LimitExceeded."""
    waiting = select(func.count()).select_from(JobRow)
    queued = session.scalar(waiting.where(JobRow.study == study, JobRow.state == "queued")) or 0
    if queued >= most:
        raise LimitExceeded(
            f"{queued} jobs of study {study} wait to be run; {most} may.",
            where="queued_jobs",
            remedy="Wait until some have ended, or cancel some.",
        )


# Rows of supervisors: who runs jobs on this database, on whatever machine.


def register_supervisor(
    session: Session, name: str, host: str, workers: int, now: datetime
) -> None:
    """Note that a supervisor has begun; the row of its earlier life is replaced."""
    leave(session, name)
    session.add(SupervisorRow(name=name, host=host, workers=workers, started=now, beat=1, seen=now))


def show_up(session: Session, name: str, host: str, workers: int, now: datetime) -> None:
    """Give a supervisor's sign of life, also where others thought it gone."""
    row = session.get(SupervisorRow, name)
    if row is None:
        register_supervisor(session, name, host, workers, now)
    else:
        row.beat += 1
        row.seen = now


def leave(session: Session, name: str) -> None:
    """Forget a supervisor."""
    session.execute(delete(SupervisorRow).where(SupervisorRow.name == name))


def supervisor_signs(session: Session) -> dict[str, int]:
    """Return the count of signs of life of each supervisor."""
    found = session.execute(select(SupervisorRow.name, SupervisorRow.beat))
    return {row.name: row.beat for row in found}


def workers_known(session: Session) -> int:
    """Return how many workers all supervisors have together."""
    return int(session.scalar(select(func.coalesce(func.sum(SupervisorRow.workers), 0))) or 0)
