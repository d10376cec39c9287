"""Rows of studies and of who takes part in them: invitations and owners."""

from __future__ import annotations

from datetime import datetime
from typing import cast

from sqlalchemy import select
from sqlalchemy.orm import Session

from miner_service.store.schema import InvitationRow, OwnerRow, StudyRow
from pramana_core.errors import Conflict, NotFound
from pramana_core.wire.base import People
from pramana_core.wire.people import Owner, Study, StudyCreate

ADMIN = "admin"
ANALYST = "analyst"
OWNER = "owner"
MONITOR = "monitor"
"""The roles of tokens; a monitor may read how the service fares, and nothing of any study."""


def study_message(row: StudyRow) -> Study:
    """Return a study as the outside sees it."""
    return Study(
        name=row.name,
        title=row.title,
        max_epsilon_record=row.max_epsilon_record,
        max_epsilon_column=row.max_epsilon_column,
        people=cast(People, row.people),
        created=row.created,
    )


def owner_message(row: OwnerRow) -> Owner:
    """Return an owner as the outside sees it."""
    return Owner(name=row.name, joined=row.joined, active=row.active)


def find_study(session: Session, name: str) -> StudyRow:
    """Return a study. Raises NotFound."""
    row = session.scalar(select(StudyRow).where(StudyRow.name == name))
    if row is None:
        raise no_such("study")
    return row


def no_such(what: str) -> NotFound:
    """Return the one error for what is absent and for what the caller may not see."""
    return NotFound(
        f"There is no such {what}, or none that this token may see.",
        where=what,
        remedy="Look at the address and at which study the token is for.",
    )


def create_study(session: Session, body: StudyCreate, now: datetime) -> tuple[StudyRow, bool]:
    """Create a study, or find the same one made before; say which. Raises Conflict."""
    row = session.scalar(select(StudyRow).where(StudyRow.name == body.name))
    if row is None:
        row = StudyRow(**body.model_dump(), created=now)
        session.add(row)
        session.flush()
        return row, True
    made = study_message(row).model_dump(exclude={"created"})
    if made != body.model_dump():
        raise Conflict(
            f"A study {body.name} exists with another title or budget, or says otherwise of its"
            " owners' people.",
            where="name",
            remedy="Choose another name, or send the title, budget and `people` that it has.",
        )
    return row, False


def change_budget(session: Session, wanted: StudyCreate) -> None:
    """Give a study the budget of a message. Raises NotFound."""
    row = find_study(session, wanted.name)
    row.max_epsilon_record = wanted.max_epsilon_record
    row.max_epsilon_column = wanted.max_epsilon_column


def change_people(session: Session, study: str, people: People) -> None:
    """Correct what a study says of its owners' people. Raises NotFound."""
    find_study(session, study).people = people


def awaited_owners(session: Session, study: str, now: datetime) -> set[str]:
    """Return the names of a study's active owners and of those whose invitation still holds."""
    joined = select(OwnerRow.name).where(OwnerRow.study == study, OwnerRow.active.is_(True))
    invited = select(InvitationRow.owner).where(
        InvitationRow.study == study,
        InvitationRow.accepted.is_(None),
        InvitationRow.expires > now,
    )
    return {*session.scalars(joined), *session.scalars(invited)}
