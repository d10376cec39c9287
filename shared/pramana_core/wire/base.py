"""What all messages share: their base, names, labels and bounds."""

from __future__ import annotations

from typing import Annotated, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, StringConstraints

from pramana_core.domain import CATEGORIES, VARIABLES

KEY_BYTES = 16
"""Length of a record pseudonym."""

KEY_COLUMN = "__key__"
"""The column of pseudonyms in a part; no variable may have this name."""

MAX_PARTS = 10_000
MAX_VARIABLES = VARIABLES
MAX_CATEGORIES = CATEGORIES
MAX_RECORDS = 1 << 34
MAX_OWNERS = 256


Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", strict=True)]
"""A name of a study, owner, release or job: letters, digits and `. _ -`, at most 64."""

Label = Annotated[str, StringConstraints(min_length=1, max_length=256, strict=True)]
"""A variable's or category's name."""

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$", strict=True)]

People = Literal["same", "different", "overlapping"]
"""What a study says of its owners' records: of the same people, of different ones, or of some that
are the same; `overlapping` assumes nothing."""


class Message(BaseModel):
    """The base of all messages: frozen, unknown fields refused by name."""

    # A key may be no name in Python (`class`): it is written as it is read.
    model_config = ConfigDict(
        extra="forbid", frozen=True, serialize_by_alias=True, allow_inf_nan=False
    )


Item = TypeVar("Item")


class Page(Message, Generic[Item]):
    """One page of a list; `next` is the cursor of the next page, or null."""

    items: list[Item]
    next: str | None = None


Records = Literal["identical", "common", "any"]
"""Which records a job uses: those of all owners, which must be the same; those at every owner; or
all."""


def default_records(people: People) -> Records:
    """Return which records a job uses that does not say, by what the study says of its people."""
    return "any" if people == "different" else "identical"


def holding(people: People) -> str:
    """Say what a study's owners hold, by what the study says of them."""
    return {
        "same": "hold the same people",
        "different": "hold different people",
        "overlapping": "may hold some of the same people",
    }[people]


def meaning(people: People) -> str:
    """Say what that means for what a person loses."""
    if people == "different":
        return "a person loses what one owner tells, and the sum if several owners have her record"
    return "what all owners tell of a person adds up"
