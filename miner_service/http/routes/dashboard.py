"""The dashboard: studies, owners, releases, alignment, privacy, jobs and models at one moment."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Select, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from miner_service.http.access.access import Caller
from miner_service.intake.study_privacy import study_privacy
from miner_service.kinds import MODEL_KINDS
from miner_service.services import Services
from miner_service.store.jobs import job_message
from miner_service.store.people import ADMIN, OWNER, owner_message, study_message
from miner_service.store.releases import release_message
from miner_service.store.schema import JobRow, ModelRow, OwnerRow, ReleaseRow, StudyRow
from shared.wire.learning.dashboard import Dashboard, DashboardStudy
from shared.wire.learning.models import ModelEntry

NEWEST = 100
"""At most this many studies, owners, releases, jobs and models are shown, the newest."""


def dashboard(services: Services, session: Session, caller: Caller) -> Dashboard:
    """Return what a caller may see."""
    query = select(StudyRow)
    if caller.role != ADMIN:
        query = query.where(StudyRow.name == caller.study)
    studies = _newest(session, query, StudyRow.seq)
    return Dashboard(
        at=services.now(),
        studies=[_study(services, session, caller, study) for study in studies],
    )


def _study(services: Services, session: Session, caller: Caller, study: StudyRow) -> DashboardStudy:
    releases = select(ReleaseRow).where(ReleaseRow.study == study.name)
    if caller.role == OWNER:
        releases = releases.where(ReleaseRow.owner == caller.name)
    owners = select(OwnerRow).where(OwnerRow.study == study.name)
    jobs = caller.visible_jobs(select(JobRow).where(JobRow.study == study.name))
    models = caller.visible_jobs(
        select(ModelRow).join(JobRow, JobRow.id == ModelRow.job).where(JobRow.study == study.name)
    )
    learned: list[ModelRow] = _newest(session, models, ModelRow.seq)
    warnings = _warnings(session, learned)
    return DashboardStudy(
        study=study_message(study),
        owners=[owner_message(row) for row in _newest(session, owners, OwnerRow.seq)],
        releases=[
            release_message(session, row) for row in _newest(session, releases, ReleaseRow.seq)
        ],
        alignment=caller.view_alignment(services.alignment(session, study.name)),
        privacy=study_privacy(services, session, study.name, shown_to_owner=caller.role == OWNER),
        jobs=[
            caller.view_job(session, job_message(session, row))
            for row in _newest(session, jobs, JobRow.seq)
        ],
        models=[_entry(row, warnings) for row in learned],
    )


def _warnings(session: Session, rows: Sequence[ModelRow]) -> dict[str, list[str]]:
    """Return, by model, where its reports do not fit the models its counts were taken from."""
    query = (
        select(ModelRow.id, func.json_extract(ModelRow.body, "$.lack_of_fit"))
        .join(JobRow, JobRow.id == ModelRow.job)
        .where(ModelRow.id.in_([row.id for row in rows]))
        .where(func.json_extract(JobRow.spec, "$.estimator").in_(("log-linear", "pooled")))
    )
    return {
        model: [test["warning"] for test in json.loads(tests or "[]") if test["warning"]]
        for model, tests in session.execute(query)
    }


def _entry(row: ModelRow, warnings: Mapping[str, list[str]]) -> ModelEntry:
    address = f"/v1/models/{row.id}"
    return ModelEntry(
        id=row.id,
        job=row.job,
        kind=row.kind,
        created=row.created,
        addresses=[address, *(f"{address}/{offer}" for offer in MODEL_KINDS[row.kind].offers)],
        warnings=warnings.get(row.id, []),
    )


def _newest(session: Session, query: Select[Any], seq: InstrumentedAttribute[int]) -> list[Any]:
    rows = session.scalars(query.order_by(seq.desc()).limit(NEWEST)).all()
    return list(reversed(rows))
