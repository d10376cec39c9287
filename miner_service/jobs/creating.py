"""Creating, renaming and cancelling jobs."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from miner_service.intake.study_privacy import losses_of
from miner_service.intake.unbounded import unbounded_of
from miner_service.kinds import kind_of
from miner_service.kinds.base import PreparedJob
from miner_service.services import Services
from miner_service.store.jobs import create_job, find_job, find_model, job_by_key, job_message
from miner_service.store.people import find_study, study_message
from miner_service.store.queue import UNFINISHED, add_line, finish
from miner_service.store.releases import stated_groups
from miner_service.store.schema import ReleaseRow
from pramana_core import privacy
from pramana_core.privacy import Amplification
from pramana_core.wire.base import default_records
from pramana_core.wire.jobs import ContingencyTableSpec, Job, JobCreate, JobSpec, read_job_spec
from pramana_core.wire.releases import Alignment, secrets_differ


def create(services: Services, study: str, body: JobCreate) -> tuple[Job, bool]:
    """Create a job, or find an equal one. Return its message and whether it was queued.

    Raises StructureError, RecordsDoNotAlign, VariablesMissing, Conflict, LimitExceeded.
    """
    with services.database.read() as session:
        find_study(session, study)
        if body.key is not None:
            known = job_by_key(session, study, body.key)
            if known is not None and _same(read_job_spec(known.spec), body.spec):
                return job_message(session, known, services.now()), False
        spec, prepared = settled(services, session, study, body.spec)
    with services.database.write() as session:
        row, to_run = create_job(
            session,
            study=study,
            key=body.key or _default_key(spec, prepared.alignment),
            default_key=body.key is None,
            name=_name(study, spec, prepared, services.now()),
            spec=spec,
            releases=[source.release for source in prepared.sources],
            most_queued=services.settings.quotas.queued_jobs,
            now=services.now(),
        )
        if to_run:
            if prepared.alignment.secrets == "different" and row.records == "any":
                warning = (
                    f"Warning: {secrets_differ(prepared.alignment.secret_groups)} A person known"
                    " to several owners counts once for each owner."
                )
                add_line(session, row, warning, services.now())
            for warning in prepared.copied:
                add_line(session, row, f"Warning: {warning}", services.now())
        return job_message(session, row, services.now()), to_run


def settled(
    services: Services, session: Session, study: str, wanted: JobSpec
) -> tuple[JobSpec, PreparedJob]:
    """Return a specification with all options chosen, and the prepared job. Raises as `create`."""
    if getattr(wanted, "records", "identical") is None:
        people = study_message(find_study(session, study)).people
        wanted = wanted.model_copy(update={"records": default_records(people)})
    if (
        isinstance(wanted, ContingencyTableSpec)
        and wanted.groups is None
        and len(wanted.variables) == 1
    ):
        groups = stated_groups(session, study, wanted.variables[0])
        wanted = wanted.model_copy(update={"groups": groups})
    prepared = services.prepare(session, study, wanted)
    spec = kind_of(wanted).settled(wanted, prepared)
    return spec, prepared


def _default_key(spec: JobSpec, alignment: Alignment) -> str:
    """Return a key that is equal for jobs with the same specification and the same releases."""
    work = json.dumps(spec.model_dump(mode="json"), sort_keys=True)
    content = f"{work}\n{alignment.digest}"
    return "job-" + hashlib.sha256(content.encode()).hexdigest()[:16]


def _name(study: str, spec: JobSpec, prepared: PreparedJob, now: datetime) -> str:
    learned = spec.kind.replace("-", " ").replace("bayes", "Bayes")
    columns = f" of {prepared.columns} columns" if prepared.columns else ""
    return f"{study}: {learned}{columns}, {now.day} {now:%b %H:%M}"


def rename(services: Services, identifier: str, name: str) -> Job:
    """Rename a job and its model. Raises NotFound."""
    with services.database.write() as session:
        row = find_job(session, identifier)
        row.name = name
        if row.model is not None:
            find_model(session, row.model).name = name
        return job_message(session, row, services.now())


def _same(known: JobSpec, wanted: JobSpec) -> bool:
    """Return whether a job has the wanted specification. `wanted` options of None match any."""
    open_options = ("estimator", "order", "records", "groups")
    left = [name for name in open_options if getattr(wanted, name, 0) is None]
    return known == wanted.model_copy(update={name: getattr(known, name, None) for name in left})


def cancel(services: Services, identifier: str) -> Job:
    """Cancel an unfinished job. Raises NotFound."""
    with services.database.write() as session:
        row = find_job(session, identifier)
        if row.state in UNFINISHED:
            finish(session, row, "cancelled", services.now())
        return job_message(session, row, services.now())


def record_loss(session: Session, study: str, rows: Sequence[ReleaseRow]) -> Amplification:
    """Return the loss of a whole record by some releases, if its columns determine each other.

    The loss is infinite if a release has no gamma or if no column is randomized.
    """
    disclosures = [block for row in rows for block in losses_of(row)]
    if any(unbounded_of(row) for row in rows) or not any(block.randomized for block in disclosures):
        return Amplification(math.inf)
    disjoint = find_study(session, study).people == "different"
    return privacy.total_loss(disclosures, different_people=disjoint).record.determined
