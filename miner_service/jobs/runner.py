"""One run of a job, from its row to its model: the same in a process of its own and in a thread.

After a crash an unfinished job runs again, on the same releases, and ends with the same model.
Whatever a run computes that is no longer wanted is thrown away, because only the run that holds the
job's lease can end it.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable

from sqlalchemy.orm import Session

from miner_service.jobs.endings import out_of_memory
from miner_service.jobs.told import told_to
from miner_service.kinds import kind_of
from miner_service.mining import mining
from miner_service.mining.prepared import Learned, PreparedJob
from miner_service.services import Services, held
from miner_service.store.queue.leases import Lease, leased
from miner_service.store.queue.states import Made, finish, model_id, succeed
from miner_service.store.releases import find_release, inconsistent
from miner_service.store.schema import JobRow
from pramana_core.errors import Conflict, JobCancelled, NotReady, PramanaError, StorageFull
from pramana_core.progress import Progress
from pramana_core.wire.learning.jobs import JobSpec, read_job_spec
from pramana_core.wire.learning.models import FILLED_IN, ModelHead
from pramana_core.wire.privacy import AmplificationMessage
from pramana_core.wire.problems import problem_of, unforeseen
from pramana_core.wire.releases.catalogue import KINDS

log = logging.getLogger(__name__)

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0

Learn = Callable[[JobSpec, PreparedJob, Services, Progress], Learned]
"""Does the work of a job; calls back after each step, and lets errors of that call through."""


def learn_model(
    spec: JobSpec, prepared: PreparedJob, services: Services, on_step: Progress
) -> Learned:
    """Do the work of a job on the service's own files."""
    return mining.learn(spec, prepared, services.aligner, services.columns, on_step)


def work_once(services: Services, lease: Lease, learn: Learn, on_step: Progress) -> bool:
    """Run a leased job to its end, and store what it made or why it failed.

    At most one run of a job ends it: nothing is stored unless the lease still holds.

    Args:
        services: the store and the files.
        lease: the run that this is.
        learn: does the work.
        on_step: called after each step; what it raises stops the work.

    Returns:
        Whether the job was ended by this run; if not, it was no longer wanted.

    Raises:
        JobCancelled: `on_step` stopped it; the job is as it was.
        NotReady, StorageFull: so is it where the store is away, or has no room. What was made is
            kept and tried again for as long as a lease holds before that.
    """
    try:
        with services.database.read() as session:
            row = leased(session, lease)
        if row is None:
            return False
        spec = read_job_spec(row.spec)
        learned = learn(spec, _prepare_again(services, row, spec), services, on_step)
        made = _made(_model_message(services, row, spec, learned), kind_of(spec).model.name)
    except (JobCancelled, NotReady, StorageFull):
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, the job's reader is told
        return _fail(services, lease, error)
    return _ended(services, lease, lambda s, wanted: succeed(s, wanted, made, services.now()))


def _ended(services: Services, lease: Lease, end: Callable[[Session, JobRow], None]) -> bool:
    """End a job that this run still has, and say whether it had it.

    What took hours to compute is not thrown away because the store is away for a moment.
    """
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


def _made(message: ModelHead, kind: str) -> Made:
    tests = [test.model_dump(mode="json") for test in message.lack_of_fit]
    return Made(
        kind=kind,
        body=message.model_dump_json(),
        holds_releases=getattr(message, "holds_releases", False),
        lack_of_fit=json.dumps(tests) if tests else None,
    )


def _fail(services: Services, lease: Lease, error: Exception) -> bool:
    if isinstance(error, MemoryError):
        error = out_of_memory(services.settings.limits.job_bytes)
    if isinstance(error, PramanaError):
        document = problem_of(error)
    else:
        document = unforeseen()
        log.error("job %s failed", lease.job, exc_info=error)

    def fail(session: Session, row: JobRow) -> None:
        finish(session, row, "failed", services.now(), problem=document)

    return _ended(services, lease, fail)


def _prepare_again(services: Services, row: JobRow, spec: JobSpec) -> PreparedJob:
    """Check again, on the releases the job was created for, that it can run."""
    with services.database.read() as session:
        rows = [find_release(session, name) for name in json.loads(row.releases)]
    lost = [row.name for row in rows if row.state != "sealed"]
    if lost:
        raise Conflict(f"Releases {lost} are no longer there.", remedy="Create the job again.")
    services.verify(rows)
    releases = [held(row) for row in rows]
    alignment = services.aligner.align(
        row.study,
        [source for source, _ in releases],
        missing=[],
        no_records=not KINDS[mining.releases_used(spec)].has_records,
    )
    return mining.prepare(spec, releases, alignment, services.settings.limits, services.aligner)


def _model_message(services: Services, row: JobRow, spec: JobSpec, learned: Learned) -> ModelHead:
    with services.database.read() as session:
        rows = [find_release(session, name) for name in json.loads(row.releases)]
        told = told_to(session, row.study, rows)
    message: ModelHead = kind_of(spec).model.message(
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
        told=AmplificationMessage.of(told),
        **learned.content,
    )
    return message
