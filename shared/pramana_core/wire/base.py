"""The common base of all messages: names, labels and limits."""

from __future__ import annotations

from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    SerializerFunctionWrapHandler,
    StringConstraints,
    model_serializer,
)

from pramana_core.domain import CATEGORIES, OWNERS, VARIABLES

KEY_BYTES = 16
"""Bytes of a record's pseudonym."""

KEY_COLUMN = "__key__"
"""The column of pseudonyms in a part; no variable may have this name."""

MAX_PARTS = 10_000
MAX_VARIABLES = VARIABLES
MAX_CATEGORIES = CATEGORIES
MAX_RECORDS = 1 << 34
MAX_OWNERS = OWNERS


Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", strict=True)]
"""A name of a study, owner, release or job: at most 64 letters, digits and `. _ -`."""

Label = Annotated[str, StringConstraints(min_length=1, max_length=256, strict=True)]
"""A variable's or category's name."""

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$", strict=True)]

People = Literal["same", "different", "overlapping"]
"""What a study declares about its owners' people: all the same, all different, or possibly shared.

`overlapping` assumes nothing.
"""


class Message(BaseModel):
    """The base of all messages, which are immutable and reject unknown fields by name."""

    # A key that is a Python keyword (`class`) has another field name; JSON uses the key.
    model_config = ConfigDict(
        extra="forbid", frozen=True, serialize_by_alias=True, allow_inf_nan=False
    )


class SparseMessage(Message):
    """A message without null fields, as in canonical JSON."""

    # A return type would replace the fields in the OpenAPI document.
    @model_serializer(mode="wrap")
    def _without_absence(self, write: SerializerFunctionWrapHandler):  # type: ignore[no-untyped-def]
        written: dict[str, Any] = write(self)
        return {key: value for key, value in written.items() if value is not None}


Item = TypeVar("Item")


class Page(Message, Generic[Item]):
    """One page of a list; `next` is the cursor of the next page, or null."""

    items: list[Item]
    next: str | None = None


Records = Literal["identical", "common", "any"]
"""The records that a job uses.

`identical`: all owners' records, which must be the same set. `common`: the records that every owner
has. `any`: all records.
"""


def default_records(people: People) -> Records:
    """Return the records that a job uses by default, from the study's declaration of its people."""
    return "any" if people == "different" else "identical"


def holding(people: People) -> str:
    """Return a verb phrase: whether the study declares the owners to have the same people."""
    return {
        "same": "have records of the same people",
        "different": "have records of different people",
        "overlapping": "may have records of some of the same people",
    }[people]


def meaning(people: People) -> str:
    """Return a clause on how a person's losses combine, by the study's declaration."""
    if people == "different":
        return "a person's loss is due to one owner, or the sum if several owners have the person"
    return "the losses of a person at all owners add up"
