"""The next steps of a study and who takes them, for pages, commands and the API."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from miner_service.store.people import (
    ANALYST,
    awaited_owners,
    find_study_plan,
    lapsed_invitations,
    study_message,
)
from miner_service.store.releases import active_owners, owners_in_use
from miner_service.store.schema import JobRow, ReleaseRow, ReportPlanRow, StudyRow, TokenRow
from pramana_core.wire.privacy import Study, StudyStep


def study_now(session: Session, row: StudyRow, now: datetime, *, for_owner: bool) -> Study:
    """Return a study with the owners that have not joined yet, and its next steps.

    An owner sees no steps about jobs, because successful jobs show that owners share people.
    """
    joined = active_owners(session, row.name)
    awaited = sorted(awaited_owners(session, row.name, now) - set(joined))
    lapsed = sorted(lapsed_invitations(session, row.name, now))
    steps = list(_steps_of_owners(session, row, joined, awaited, lapsed))
    if not (steps or for_owner):
        steps = list(_steps_of_analysts(session, row.name, now))
    return study_message(row).model_copy(update={"awaited": awaited, "next": steps})


def _steps_of_owners(
    session: Session,
    row: StudyRow,
    joined: Sequence[str],
    awaited: Collection[str],
    lapsed: Collection[str],
) -> Iterator[StudyStep]:
    study = row.name
    if lapsed:
        what = f"invite {', '.join(lapsed)} again: the invitation expired"
        command = f"miner-service study invite {study} {' '.join(lapsed)}"
        yield StudyStep(who="operator", what=what, command=command)
    elif not (joined or awaited):
        command = f"miner-service study invite {study} OWNER..."
        yield StudyStep(who="operator", what="invite the owners", command=command)
    if not (joined or awaited):
        return
    if awaited:
        what = "describe the table (owner-agent init TABLE --invitation INVITATION), then join"
        command = "owner-agent join INVITATION"
        yield StudyStep(who="custodian", owners=list(awaited), what=what, command=command)
    reports = session.get(ReportPlanRow, study)
    custodians = [owner for owner in joined if reports is None or owner != reports.owner]
    in_use = owners_in_use(session, study)
    planned = find_study_plan(session, study) is not None
    if not planned and _may_plan(session, row, len(custodians) + len(awaited) + len(lapsed)):
        what = "design the study's plan from the owners' public parts, without any table"
        need = "--gamma 19 --records N"
        if row.central_records is not None:
            need = f"--central-epsilon {row.max_central_epsilon} --delta {row.central_delta}"
            need += f" --records {row.central_records}"
        command = f"owner-agent design PART... {need} --write-study-plan plan.json"
        yield StudyStep(who="operator or custodian", what=what, command=command)
        command = f"miner-service study plan set {study} plan.json"
        yield StudyStep(who="operator", what="set the study's plan", command=command)
    elif missing := [owner for owner in custodians if owner not in in_use]:
        what = "store the study's plan (owner-agent join), then publish" if planned else "publish"
        yield StudyStep(who="custodian", owners=missing, what=what, command="owner-agent publish")
    if reports is not None and reports.owner in joined and reports.owner not in in_use:
        what = (
            f"put the reports of single records into use (POST /v1/studies/{study}/reports/release)"
        )
        yield StudyStep(who="operator", what=what)


def _may_plan(session: Session, row: StudyRow, owners: int) -> bool:
    begun = select(ReleaseRow.id).where(
        ReleaseRow.study == row.name, ReleaseRow.state != "withdrawn"
    )
    alone = row.people == "different" or owners <= 1
    return not alone and session.scalar(begun.limit(1)) is None


def _steps_of_analysts(session: Session, study: str, now: datetime) -> Iterator[StudyStep]:
    if session.scalar(select(JobRow.id).where(JobRow.study == study).limit(1)) is not None:
        return
    valid = select(TokenRow.id).where(
        TokenRow.study == study,
        TokenRow.role == ANALYST,
        TokenRow.revoked.is_(False),
        TokenRow.expires.is_(None) | (TokenRow.expires > now),
    )
    if session.scalar(valid.limit(1)) is None:
        what = "give an analyst access"
        command = f"miner-service study analyst {study} --access-file analyst.json"
        yield StudyStep(who="operator", what=what, command=command)
    yield StudyStep(who="analyst", what="run a job", command="pramana study run KIND")
