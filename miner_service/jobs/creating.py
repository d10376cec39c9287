"""Jobs as they are asked for: created as rows, and cancelled."""

from __future__ import annotations

from miner_service.jobs.predicted import predicted
from miner_service.mining import mining
from miner_service.mining.prepared import copied
from miner_service.services import Services
from miner_service.store import jobs as job_rows
from miner_service.store.people import find_study
from miner_service.store.queue.creating import create_job
from miner_service.store.queue.log import add_line
from miner_service.store.queue.states import UNFINISHED, finish
from pramana_core.wire.learning.jobs import Job, JobCreate, JobSpec, read_job_spec
from pramana_core.wire.releases import Alignment
from pramana_core.wire.releases.messages import secrets_differ


def create(services: Services, study: str, body: JobCreate) -> tuple[Job, bool]:
    """Create a job, or find the same one created before; say whether it is to run.

    Raises:
        StructureError, RecordsDoNotAlign, VariablesMissing, Conflict, LimitExceeded: it cannot
            run, or its key belongs to another job.
        QuotaExceeded: too many jobs of the study wait.
    """
    with services.database.read() as session:
        find_study(session, study)
        if body.key is not None:
            known = job_rows.job_by_key(session, study, body.key)
            if known is not None and _same(read_job_spec(known.spec), body.spec):
                return job_rows.job_message(session, known, services.now()), False
        prepared = services.prepare(session, study, body.spec)
        spec = mining.settled(body.spec, prepared)
        expected = predicted(session, spec, prepared, services.settings.limits)
    with services.database.write() as session:
        row, to_run = create_job(
            session,
            study=study,
            key=body.key or mining.default_key(spec, prepared.alignment),
            default_key=body.key is None,
            spec=spec,
            releases=[source.release for source in prepared.sources],
            most_queued=services.settings.quotas.queued_jobs,
            now=services.now(),
        )
        if to_run:
            expected.note(row)
            if prepared.alignment.secrets == "different" and row.records == "any":
                add_line(session, row, _twice(prepared.alignment), services.now())
            for told in copied(prepared):
                add_line(session, row, f"Warning: {told}", services.now())
        return job_rows.job_message(session, row, services.now()), to_run


def _same(known: JobSpec, asked: JobSpec) -> bool:
    """Whether a job is the one asked for; what it left to the records was settled as in that."""
    if getattr(asked, "order", 0) is None:
        asked = asked.model_copy(update={"order": getattr(known, "order", None)})
    return known == asked


def _twice(alignment: Alignment) -> str:
    """Say that records that are put together may be of the same people."""
    return (
        f"Warning: {secrets_differ(alignment.secret_groups)} One person has other pseudonyms under"
        " each, so a person whom several owners know counts once for each of them."
    )


def cancel(services: Services, identifier: str) -> Job:
    """Cancel a job; one that is finished stays as it is. Raises NotFound."""
    with services.database.write() as session:
        row = job_rows.find_job(session, identifier)
        if row.state in UNFINISHED:
            finish(session, row, "cancelled", services.now())
        return job_rows.job_message(session, row, services.now())
