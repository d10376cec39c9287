"""Rows of studies, their owners and their plans."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache

from sqlalchemy import select
from sqlalchemy.orm import Session

from miner_service.store.schema import InvitationRow, OwnerRow, StudyPlanRow, StudyRow
from pramana_core.errors import Conflict, NotFound
from pramana_core.study_plan import StudyPlan
from pramana_core.wire.privacy import Owner, Study, StudyCreate
from pramana_core.wire.study_plans import StudyPlanMessage

ADMIN = "admin"
ANALYST = "analyst"
OWNER = "owner"
MONITOR = "monitor"
GATEWAY = "gateway"
"""The roles of tokens. A monitor reads the service's metrics but no study. A gateway submits
single-record reports to one study and reads their plan.
"""


def study_message(row: StudyRow) -> Study:
    """Return a study as API message."""
    return Study.model_validate(row, from_attributes=True)


def owner_message(row: OwnerRow) -> Owner:
    """Return an owner as API message."""
    return Owner.model_validate(row, from_attributes=True)


def find_study(session: Session, name: str) -> StudyRow:
    """Return the study with this name. Raises NotFound."""
    row = session.scalar(select(StudyRow).where(StudyRow.name == name))
    if row is None:
        raise no_such("study")
    return row


def no_such(what: str) -> NotFound:
    """Return the error for an object that does not exist or that the caller may not see."""
    return NotFound(
        f"The {what} does not exist, or this token may not see it.",
        where=what,
        remedy="Check the address, and the study of the token.",
    )


def create_study(session: Session, body: StudyCreate, now: datetime) -> tuple[StudyRow, bool]:
    """Create a study, or find the identical one. Return whether it is new. Raises Conflict."""
    row = session.scalar(select(StudyRow).where(StudyRow.name == body.name))
    if row is None:
        row = StudyRow(**body.model_dump(), created=now)
        session.add(row)
        session.flush()
        return row, True
    if StudyCreate.model_validate(row, from_attributes=True) != body:
        raise Conflict(
            f"A study {body.name} exists with a different title, budget or value of `people`.",
            where="name",
            remedy="Choose another name, or send that study's title, budget and `people`.",
        )
    return row, False


def awaited_owners(session: Session, study: str, now: datetime) -> set[str]:
    """Return the names of a study's active owners and of owners with a pending invitation."""
    joined = select(OwnerRow.name).where(OwnerRow.study == study, OwnerRow.active.is_(True))
    invited = select(InvitationRow.owner).where(
        InvitationRow.study == study,
        InvitationRow.accepted.is_(None),
        InvitationRow.expires > now,
    )
    return {*session.scalars(joined), *session.scalars(invited)}


def lapsed_invitations(session: Session, study: str, now: datetime) -> set[str]:
    """Return the owners that have not joined and whose invitations have all expired."""
    everyone = select(InvitationRow.owner).where(
        InvitationRow.study == study,
        InvitationRow.accepted.is_(None),
        InvitationRow.hash != "",  # "" after a revocation or the owner's removal
    )
    return {*session.scalars(everyone)} - awaited_owners(session, study, now)


def find_study_plan(session: Session, study: str) -> StudyPlan | None:
    """Return the plan that a study's owners agreed on, or None."""
    row = session.get(StudyPlanRow, study)
    return None if row is None else _read(row.plan)


def store_study_plan(session: Session, study: str, plan: StudyPlan, now: datetime) -> None:
    """Store a study's plan, replacing an earlier one."""
    row = session.get(StudyPlanRow, study)
    if row is None:
        row = StudyPlanRow(study=study)
        session.add(row)
    row.digest, row.plan, row.agreed = plan.digest, plan.canonical_json().decode(), now
    session.flush()


def remove_study_plan(session: Session, study: str) -> None:
    """Delete a study's plan."""
    row = session.get(StudyPlanRow, study)
    if row is not None:
        session.delete(row)
        session.flush()


@lru_cache(maxsize=16)
def _read(text: str) -> StudyPlan:
    """Parse a stored plan. The plan is cached, because it may have thousands of sets."""
    return StudyPlanMessage.model_validate_json(text).to_plan()
