"""Jobs: created as rows, run by one background thread, ended as rows.

After a crash an unfinished job runs again, on the same releases, and ends with the same model,
unless several crashes in a row found it running: then it fails. A job that is cancelled, or whose
releases go away, stops at its next step; whatever it may still compute is thrown away, because only
an attempt that is still wanted can end a job.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from miner_service.jobs.predicted import predicted
from miner_service.kinds import kind_of
from miner_service.mining import mining
from miner_service.mining.prepared import Learned, PreparedJob
from miner_service.services import Services, held
from miner_service.store import jobs as job_rows
from miner_service.store.people import find_study
from miner_service.store.releases import find_release, inconsistent
from miner_service.store.schema import JobRow
from shared.errors import Conflict, JobCancelled, LimitExceeded, PramanaError
from shared.progress import Progress
from shared.wire.learning.jobs import Job, JobCreate, JobSpec, read_job_spec
from shared.wire.learning.models import ModelHead
from shared.wire.problems import ProblemDetail, problem_of, unforeseen
from shared.wire.releases.catalogue import KINDS

log = logging.getLogger(__name__)

Learn = Callable[
    [JobSpec, PreparedJob, Services, Progress],
    Learned,
]
"""Does the work of a job; calls back after each step, and lets errors of that call through."""

_PROGRESS_SECONDS = 0.25


@dataclass(frozen=True)
class Attempt:
    """One run of a job."""

    job: str
    study: str
    number: int
    spec: JobSpec
    releases: tuple[str, ...]


def create(services: Services, study: str, body: JobCreate) -> tuple[Job, bool]:
    """Create a job, or find the same one created before; say whether it is to run.

    Raises:
        StructureError, RecordsDoNotAlign, VariablesMissing, Conflict, LimitExceeded: it cannot
            run, or its key belongs to another job.
    """
    with services.database.read() as session:
        find_study(session, study)
        if body.key is not None:
            known = job_rows.job_by_key(session, study, body.key)
            if known is not None and read_job_spec(known.spec) == body.spec:
                return job_rows.job_message(session, known), False
        prepared = services.prepare(session, study, body.spec)
        expected = predicted(session, body.spec, prepared, services.settings.limits)
    with services.database.write() as session:
        row, to_run = job_rows.create_job(
            session,
            study=study,
            key=body.key or mining.default_key(body.spec, prepared.alignment),
            default_key=body.key is None,
            spec=body.spec,
            releases=[source.release for source in prepared.sources],
            now=services.now(),
        )
        if to_run:
            expected.note(row)
        return job_rows.job_message(session, row), to_run


def cancel(services: Services, identifier: str) -> Job:
    """Cancel a job; one that is finished stays as it is. Raises NotFound."""
    with services.database.write() as session:
        row = job_rows.find_job(session, identifier)
        if row.state in job_rows.UNFINISHED:
            job_rows.finish(row, "cancelled", services.now())
        return job_rows.job_message(session, row)


def learn_model(
    spec: JobSpec, prepared: PreparedJob, services: Services, on_step: Progress
) -> Learned:
    """Do the work of a job on the service's own files."""
    return mining.learn(spec, prepared, services.aligner, services.columns, on_step)


class JobRunner:
    """Runs queued jobs one after the other in a thread of its own."""

    def __init__(self, services: Services, learn: Learn = learn_model) -> None:
        self._services = services
        self._learn = learn
        self._work = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="jobs", daemon=True)

    @property
    def alive(self) -> bool:
        """Whether jobs are being taken up."""
        return self._thread.is_alive()

    @property
    def stopping(self) -> bool:
        """Whether the service is about to end."""
        return self._stopping.is_set()

    def start(self) -> None:
        """Queue again what was interrupted, and start."""
        with self._services.database.write() as session:
            job_rows.requeue_running(session, _given_up(), self._services.now())
        self._work.set()
        self._thread.start()

    def wake(self) -> None:
        """Say that a job was queued."""
        self._work.set()

    def ask_to_stop(self) -> None:
        """Let the running job stop at its next step; it will run again at the next start."""
        self._stopping.set()
        self._work.set()

    def stop(self) -> None:
        """Stop, waiting a while for the running job."""
        self.ask_to_stop()
        self._thread.join(self._services.settings.stop_seconds)

    def _loop(self) -> None:
        while not self.stopping:
            self._work.wait()
            self._work.clear()
            try:
                self.run_queued()
            except Exception:  # the thread must outlive any one job
                log.exception("a job could not be ended")

    def run_queued(self) -> None:
        """Run what is queued, one job after the other, until nothing is left or asked to stop."""
        attempt = self._claim()
        while attempt is not None:
            self._run(attempt)
            attempt = None if self.stopping else self._claim()

    def _claim(self) -> Attempt | None:
        with self._services.database.write() as session:
            row = job_rows.claim_next(session)
            return _attempt(row) if row is not None else None

    def _run(self, attempt: Attempt) -> None:
        try:
            learned = self._learn(
                attempt.spec,
                _prepare_again(self._services, attempt),
                self._services,
                _JobProgress(self._services, attempt, self._stopping),
            )
            self._store(attempt, learned)
        except JobCancelled:
            log.info("job %s was stopped", attempt.job)
            self._give_back(attempt)
        except Exception as error:  # noqa: BLE001 - whatever it is, the job's reader is told
            self._fail(attempt, error)

    def _store(self, attempt: Attempt, learned: Learned) -> None:
        message = _model_message(self._services, attempt, learned)
        with self._services.database.write() as session:
            row = job_rows.running_attempt(session, attempt.job, attempt.number)
            if row is not None:
                job_rows.succeed(
                    session,
                    row,
                    kind=kind_of(attempt.spec).model.name,
                    body=message.model_dump_json(),
                    now=self._services.now(),
                )

    def _give_back(self, attempt: Attempt) -> None:
        """Queue a job again that is still wanted: it stopped because the service ends."""
        with self._services.database.write() as session:
            row = job_rows.running_attempt(session, attempt.job, attempt.number)
            if row is not None:
                job_rows.give_back(row)

    def _fail(self, attempt: Attempt, error: Exception) -> None:
        if isinstance(error, PramanaError):
            document = problem_of(error)
        else:
            document = unforeseen()
            log.error("job %s failed", attempt.job, exc_info=error)
        with self._services.database.write() as session:
            row = job_rows.running_attempt(session, attempt.job, attempt.number)
            if row is not None:
                job_rows.finish(row, "failed", self._services.now(), problem=document)


class _JobProgress:
    """Notes how far a job is, and stops it when it is no longer wanted or has run too long."""

    def __init__(self, services: Services, attempt: Attempt, stopping: threading.Event) -> None:
        self._services = services
        self._attempt = attempt
        self._stopping = stopping
        self._started = self._noted = services.now()
        self._asked = datetime.min.replace(tzinfo=UTC)

    def __call__(self, done: int, total: int) -> None:
        """Take note of a step done. Raises JobCancelled, LimitExceeded."""
        now = self._services.now()
        settings = self._services.settings
        asked = (now - self._asked).total_seconds() < settings.wanted_seconds
        if self._stopping.is_set() or not (asked or self._wanted()):
            raise JobCancelled("The job is no longer wanted.", where=self._attempt.job)
        if not asked:
            self._asked = now
        allowed = settings.limits.job_seconds
        if (now - self._started).total_seconds() > allowed:
            raise LimitExceeded(
                f"The job ran for more than {allowed} seconds and was stopped.",
                where="job_seconds",
                remedy="Ask for less: fewer variables, parents, draws or itemsets.",
            )
        if (now - self._noted).total_seconds() >= _PROGRESS_SECONDS:
            self._noted = now
            self._note(done / total)

    def _wanted(self) -> bool:
        with self._services.database.read() as session:
            row = job_rows.running_attempt(session, self._attempt.job, self._attempt.number)
            return row is not None

    def _note(self, share: float) -> None:
        with self._services.database.write() as session:
            row = job_rows.running_attempt(session, self._attempt.job, self._attempt.number)
            if row is not None:
                row.progress = min(share, 1.0)


def _given_up() -> ProblemDetail:
    return unforeseen(
        f"The service ended {job_rows.MOST_BROKEN_OFF} times in a row in the middle of this job,"
        " which is not run again by itself.",
        remedy="Whoever runs the service should look at its log and its memory. Created again"
        " without a key of its own, the job runs again.",
    )


def _attempt(row: JobRow) -> Attempt:
    return Attempt(
        job=row.id,
        study=row.study,
        number=row.attempt,
        spec=read_job_spec(row.spec),
        releases=tuple(json.loads(row.releases)),
    )


def _prepare_again(services: Services, attempt: Attempt) -> PreparedJob:
    """Check again, on the releases the job was created for, that it can run."""
    with services.database.read() as session:
        rows = [find_release(session, name) for name in attempt.releases]
    lost = [row.name for row in rows if row.state != "sealed"]
    if lost:
        raise Conflict(f"Releases {lost} are no longer there.", remedy="Create the job again.")
    services.verify(rows)
    releases = [held(row) for row in rows]
    alignment = services.aligner.align(
        attempt.study,
        [source for source, _ in releases],
        missing=[],
        no_records=not KINDS[mining.releases_used(attempt.spec)].has_records,
    )
    return mining.prepare(
        attempt.spec, releases, alignment, services.settings.limits, services.aligner
    )


def _model_message(services: Services, attempt: Attempt, learned: Learned) -> ModelHead:
    with services.database.read() as session:
        rows = [find_release(session, name) for name in attempt.releases]
        created = job_rows.find_job(session, attempt.job).created
    message: ModelHead = kind_of(attempt.spec).model.message(
        id=job_rows.model_id(attempt.job),
        study=attempt.study,
        job=attempt.job,
        spec=attempt.spec,
        records=learned.records,
        releases={row.id: row.digest for row in rows},
        inconsistent=inconsistent(rows),
        lack_of_fit=list(learned.lack_of_fit),
        created=created,
        **learned.content,
    )
    return message
