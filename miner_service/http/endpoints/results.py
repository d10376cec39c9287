"""The state of a study for a caller: its alignment and the dashboard."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Select, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from miner_service.http.access.access import Caller
from miner_service.http.access.deps import CallerDep, ServicesDep, StudyPath
from miner_service.http.access.routing import RuledRouter
from miner_service.intake.next_steps import study_now
from miner_service.intake.study_privacy import study_privacy
from miner_service.kinds import MODEL_KINDS
from miner_service.services import Services
from miner_service.store.jobs import job_message
from miner_service.store.paging import Paging, page_of
from miner_service.store.people import ADMIN, OWNER, owner_message
from miner_service.store.releases import release_messages
from miner_service.store.schema import JobRow, ModelRow, OwnerRow, ReleaseRow, StudyRow
from miner_service.store.tokens import tokens_ending
from pramana_core.wire.base import Page
from pramana_core.wire.models import Dashboard, DashboardStudy, ModelEntry
from pramana_core.wire.releases import Alignment

NEWEST = 100
"""Maximum number of studies, owners, releases, jobs and models on the dashboard (the newest)."""


def dashboard(services: Services, session: Session, caller: Caller) -> Dashboard:
    """Return a caller's dashboard."""
    query = select(StudyRow)
    if caller.role != ADMIN:
        query = query.where(StudyRow.name == caller.study)
    studies = _newest(session, query, StudyRow.seq)
    return Dashboard(
        at=services.now(),
        studies=[study_seen(services, session, caller, study) for study in studies],
        ending=tokens_ending(
            session,
            services.now(),
            days=services.settings.tokens.warn_days,
            study=caller.study,
            owner=caller.name if caller.role == OWNER else None,
        ),
    )


def study_seen(
    services: Services, session: Session, caller: Caller, study: StudyRow
) -> DashboardStudy:
    """Return a caller's view of a study."""
    releases = select(ReleaseRow).where(ReleaseRow.study == study.name)
    if caller.role == OWNER:
        releases = releases.where(ReleaseRow.owner == caller.name)
    owners = select(OwnerRow).where(OwnerRow.study == study.name)
    jobs = caller.visible_jobs(select(JobRow).where(JobRow.study == study.name))
    learned: list[ModelRow] = _newest(session, _models(caller, study.name), ModelRow.seq)
    return DashboardStudy(
        study=study_now(session, study, services.now(), for_owner=caller.role == OWNER),
        owners=[owner_message(row) for row in _newest(session, owners, OwnerRow.seq)],
        releases=[
            caller.view_release(release)
            for release in release_messages(session, _newest(session, releases, ReleaseRow.seq))
        ],
        alignment=caller.view_alignment(services.alignment(session, study.name)),
        privacy=study_privacy(services, session, study.name, shown_to_owner=caller.as_owner),
        jobs=[
            caller.view_job(session, job_message(session, row, services.now()))
            for row in _newest(session, jobs, JobRow.seq)
        ],
        models=[_entry(row) for row in learned],
    )


def models_of(session: Session, caller: Caller, study: str, paging: Paging) -> Page[ModelEntry]:
    """Return one page of the list of a study's models that a caller may see."""
    return page_of(session, _models(caller, study), ModelRow.seq, paging, _entry)


def visible_models(session: Session, caller: Caller, study: str, among: Sequence[str]) -> list[str]:
    """Return those ids in `among` whose models a caller may see, in the same order."""
    query = _models(caller, study).where(ModelRow.id.in_(among))
    known = {row.id for row in session.scalars(query)}
    return [model for model in dict.fromkeys(among) if model in known]


def _models(caller: Caller, study: str) -> Select[Any]:
    query = select(ModelRow).join(JobRow, JobRow.id == ModelRow.job)
    return caller.visible_jobs(query.where(JobRow.study == study))


def _entry(row: ModelRow) -> ModelEntry:
    address, tests = f"/v1/models/{row.id}", json.loads(row.lack_of_fit or "[]")
    return ModelEntry(
        id=row.id,
        job=row.job,
        name=row.name,
        kind=row.kind,
        created=row.created,
        addresses=[address, *(f"{address}/{form}" for form in MODEL_KINDS[row.kind].views)],
        verdict=row.verdict,
        warnings=[test["warning"] for test in tests if test["warning"]],
    )


def _newest(session: Session, query: Select[Any], seq: InstrumentedAttribute[int]) -> list[Any]:
    rows = session.scalars(query.order_by(seq.desc()).limit(NEWEST)).all()
    return list(reversed(rows))


router = RuledRouter(tags=["results"])


@router.get("/studies/{study}/alignment")
def read_alignment(study: StudyPath, services: ServicesDep, caller: CallerDep) -> Alignment:
    """Read which records are at which owners, from the releases in use.

    An owner sees its own row and whether the records are the same everywhere, but not the counts of
    records that differ.
    """
    with services.database.read() as session:
        return caller.view_alignment(services.alignment(session, study))


@router.get("/dashboard")
def read_dashboard(services: ServicesDep, caller: CallerDep) -> Dashboard:
    """Read everything that the caller may see, in one snapshot."""
    with services.database.read() as session:
        return dashboard(services, session, caller)
