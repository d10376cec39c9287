"""Studies, the people in them, and their tokens."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from pramana_core.wire.base import Message, Name, People
from pramana_core.wire.privacy import Epsilon

Role = Literal["admin", "analyst", "owner", "monitor"]
"""What a token's holder is; a monitor sees how the service fares, and nothing of a study."""

ValidDays = Annotated[int, Field(ge=1, le=3650)]
"""For how many days a token is good."""


class StudyCreate(Message):
    """A new study; its budget, if it has one, limits what all owners together tell.

    In epsilons: of a record, if its columns determine each other, and of a column by its own draws.
    `people` says whether the owners hold the same people, `different` ones, or some that are the
    same (`overlapping`, which assumes nothing): only where they are different does a record lose
    what its own owner tells, and not the sum.
    """

    name: Name
    title: Annotated[str, StringConstraints(max_length=500, pattern=r"^[^\x00]*$")] = ""
    max_epsilon_record: Epsilon | None = None
    max_epsilon_column: Epsilon | None = None
    people: People = "overlapping"


class Study(StudyCreate):
    """A study: the scope of owners, releases, jobs and models."""

    SINCE_2: ClassVar[tuple[str, ...]] = ("people",)

    created: datetime


class TokenCreate(Message):
    """A token for an analyst of a study; without `valid_days` it is good for as long as usual."""

    name: Name
    valid_days: ValidDays | None = None


class TokenIssued(Message):
    """A bearer token; the only time it is shown. Only an admin's and a monitor's have no study."""

    SINCE_2: ClassVar[tuple[str, ...]] = ("expires",)

    id: str
    role: Role
    study: Name | None
    name: Name
    token: str
    expires: datetime | None = None


class TokenInfo(Message):
    """What is known of a token after it was issued; its use is noted once in a minute at most."""

    SINCE_2: ClassVar[tuple[str, ...]] = ("expires", "last_used")

    id: str
    role: Role
    study: Name | None
    name: Name
    created: datetime
    revoked: bool
    expires: datetime | None = None
    last_used: datetime | None = None


class TokenEnding(Message):
    """A token that ends soon."""

    study: Name | None
    role: Role
    name: Name
    expires: datetime


class InvitationCreate(Message):
    """An invitation for one owner to join a study; the owner's token is good for `valid_days`."""

    owner: Name
    valid_hours: Annotated[int, Field(ge=1, le=24 * 90)] = 24 * 7
    valid_days: ValidDays | None = None


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
