"""One run of a job, from its row to its model. Only the run with the lease may end the job."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable

from sqlalchemy.orm import Session

from miner_service.intake.study_privacy import central_of_releases
from miner_service.jobs.creating import record_loss
from miner_service.kinds import kind_of
from miner_service.kinds.base import JobResult, PreparedJob
from miner_service.services import Services, release_content
from miner_service.settings import MEBIBYTE
from miner_service.store.queue import FinishedModel, Lease, finish, leased, model_id, succeed
from miner_service.store.releases import find_release, inconsistent
from miner_service.store.schema import JobRow
from pramana_core.errors import Conflict, LimitExceeded, NotReady, PramanaError, StorageFull
from pramana_core.progress import Progress
from pramana_core.wire.jobs import JobSpec, read_job_spec
from pramana_core.wire.models import FILLED_IN, ModelHead
from pramana_core.wire.privacy import AmplificationMessage
from pramana_core.wire.release_kinds import KINDS
from pramana_core.wire.services import problem_of, unforeseen

log = logging.getLogger(__name__)

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0

Learn = Callable[[JobSpec, PreparedJob, Services, Progress], JobResult]
"""Computes a job. It calls `Progress` after each step and passes on the errors of that call."""


def learn_model(
    spec: JobSpec, prepared: PreparedJob, services: Services, on_step: Progress
) -> JobResult:
    """Compute a job on the records in the service's own files."""
    kind = kind_of(spec)
    return kind.learned(spec, prepared, services.access, on_step)


def work_once(services: Services, lease: Lease, learn: Learn, on_step: Progress) -> bool:
    """Run a leased job, and store its model or its error if the lease is still valid.

    Return whether this run ended the job. Raises NotReady, StorageFull: the job is unchanged.
    """
    try:
        with services.database.read() as session:
            row = leased(session, lease)
        if row is None:
            return False
        spec = read_job_spec(row.spec)
        learned = learn(spec, _prepare_again(services, row, spec), services, on_step)
        made = _finished_model(_model_message(services, row, spec, learned), kind_of(spec).makes)
    except (NotReady, StorageFull):
        raise
    except Exception as error:  # noqa: BLE001 - any error is stored for the job's reader
        return _fail(services, lease, error)
    return _end_job(services, lease, lambda s, wanted: succeed(s, wanted, made, services.now()))


def _end_job(services: Services, lease: Lease, end: Callable[[Session, JobRow], None]) -> bool:
    """End a job if this run still has its lease. Return whether it had the lease."""
    pause, until = _FIRST_PAUSE, time.monotonic() + services.settings.jobs.lease_seconds
    while True:
        try:
            with services.database.write() as session:
                row = leased(session, lease)
                if row is not None:
                    end(session, row)
                return row is not None
        except (NotReady, StorageFull):
            if time.monotonic() + pause > until:
                raise
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _finished_model(message: ModelHead, kind: str) -> FinishedModel:
    tests = [test.model_dump(mode="json") for test in message.lack_of_fit]
    return FinishedModel(
        kind=kind,
        body=message.model_dump_json(),
        holds_releases=getattr(message, "holds_releases", False),
        lack_of_fit=json.dumps(tests) if tests else None,
        verdict=message.worth.verdict if message.worth else "",
    )


def _fail(services: Services, lease: Lease, error: Exception) -> bool:
    if isinstance(error, MemoryError):
        allowed = services.settings.limits.job_bytes / MEBIBYTE
        error = LimitExceeded(
            f"The job was stopped because it needs too much memory; {allowed:.0f} MiB are allowed.",
            where="job_bytes",
            remedy="Choose fewer variables, categories or parents.",
        )
    if isinstance(error, PramanaError):
        document = problem_of(error)
    else:
        document = unforeseen()
        log.error("job %s failed", lease.job, exc_info=error)

    def fail(session: Session, row: JobRow) -> None:
        finish(session, row, "failed", services.now(), problem=document)

    return _end_job(services, lease, fail)


def _prepare_again(services: Services, row: JobRow, spec: JobSpec) -> PreparedJob:
    kind = kind_of(spec)
    with services.database.read() as session:
        rows = [find_release(session, name) for name in json.loads(row.releases)]
    lost = [row.name for row in rows if row.state != "sealed"]
    if lost:
        raise Conflict(f"Releases {lost} were withdrawn.", remedy="Create the job again.")
    services.verify(rows)
    releases = [release_content(row) for row in rows]
    alignment = services.aligner.align(
        row.study,
        [source for source, _ in releases],
        missing=[],
        no_records=not KINDS[kind.release_kind].has_records,
    )
    prepared: PreparedJob = kind.prepare(
        spec, releases, alignment, services.settings.limits, services.aligner
    )
    return prepared


def _model_message(services: Services, row: JobRow, spec: JobSpec, learned: JobResult) -> ModelHead:
    with services.database.read() as session:
        rows = [find_release(session, name) for name in json.loads(row.releases)]
        loss = record_loss(session, row.study, rows)
        central = central_of_releases(services, session, row.study, rows)
    message: ModelHead = kind_of(spec).message(
        id=model_id(row.id),
        study=row.study,
        job=row.id,
        spec=spec,
        records=learned.records,
        releases={row.id: row.digest for row in rows},
        inconsistent=inconsistent(rows),
        lack_of_fit=list(learned.lack_of_fit),
        filled_in=[list(names) for names in learned.filled_in[:FILLED_IN]],
        created=row.created,
        told=AmplificationMessage.of(loss),
        central=central,
        **learned.content,
    )
    return message
