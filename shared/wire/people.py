"""Studies, the people in them, and their tokens."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from shared.wire.base import Message, Name
from shared.wire.privacy import Epsilon


class StudyCreate(Message):
    """A new study; its budget, if it has one, limits what all owners together tell.

    In epsilons: of a record, if its columns determine each other, and of a column by its own draws.
    """

    name: Name
    title: Annotated[str, StringConstraints(max_length=500, pattern=r"^[^\x00]*$")] = ""
    max_epsilon_record: Epsilon | None = None
    max_epsilon_column: Epsilon | None = None


class Study(StudyCreate):
    """A study: the scope of owners, releases, jobs and models."""

    created: datetime


class TokenCreate(Message):
    """A token for an analyst of a study."""

    name: Name


class TokenIssued(Message):
    """A bearer token; the only time it is shown."""

    id: str
    role: Literal["analyst", "owner"]
    study: Name
    name: Name
    token: str


class TokenInfo(Message):
    """What is known of a token after it was issued."""

    id: str
    role: Literal["admin", "analyst", "owner"]
    study: Name | None
    name: Name
    created: datetime
    revoked: bool


class InvitationCreate(Message):
    """An invitation for one owner to join a study."""

    owner: Name
    valid_hours: Annotated[int, Field(ge=1, le=24 * 90)] = 24 * 7


class Invitation(Message):
    """An invitation; `secret` is there only in the answer that creates it."""

    id: str
    study: Name
    owner: Name
    expires: datetime
    accepted: bool
    secret: str | None = None


class InvitationAccept(Message):
    """An owner takes up an invitation and is given its token."""

    secret: Annotated[str, StringConstraints(min_length=16, max_length=256)]


class Owner(Message):
    """An owner in a study."""

    name: Name
    joined: datetime
    active: bool
