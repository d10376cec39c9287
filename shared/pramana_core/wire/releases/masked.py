"""Masked tables, the content of a release of masked records."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any, Literal

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    StringConstraints,
    model_serializer,
    model_validator,
)

from pramana_core.wire.base import MAX_CATEGORIES, MAX_VARIABLES, Label, Message
from pramana_core.wire.parts import RecordSchema
from pramana_core.wire.releases.base import (
    MASKED,
    MAX_SENTENCES,
    DescribedContent,
    ReleaseKind,
    Sentence,
    itself,
)

MAX_COPIES = 100

MethodName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$", strict=True)]
"""The name of a masking method, in small letters."""


class TableColumn(Message):
    """A column of a masked table: told as it is, or masked; of numbers, or of categories.

    Only numbers are masked. A column of categories has them in code order.
    """

    name: Label
    role: Literal["told", "masked"]
    type: Literal["numeric", "categorical"]
    categories: Annotated[list[Label], Field(min_length=1, max_length=MAX_CATEGORIES)] | None = None

    @model_validator(mode="after")
    def _consistent(self) -> TableColumn:
        categorical = self.type == "categorical"
        if categorical != (self.categories is not None):
            raise ValueError(
                f"column {self.name!r} must have categories if it is categorical, and none if it"
                " is numeric"
            )
        if categorical and self.role == "masked":
            raise ValueError(f"column {self.name!r} is masked, so it must be numeric")
        if self.categories is not None and len(set(self.categories)) < len(self.categories):
            raise ValueError(f"column {self.name!r} has a category twice")
        return self

    # A return type would stand in the API's document in place of the fields.
    @model_serializer(mode="wrap")
    def _without_absence(self, write: SerializerFunctionWrapHandler):  # type: ignore[no-untyped-def]
        """Leave the key out where there are no categories."""
        written: dict[str, Any] = write(self)
        return {key: value for key, value in written.items() if value is not None}


class MaskedTableMessage(DescribedContent):
    """What a release of masked records holds: its columns, and how they were masked.

    Of `copies` masked copies, each masked column of copy i travels as `name@i`; of one copy, as
    `name`. `protection` is the owner's agent's own words on what the method protects and what it
    does not: they are told to whoever reads the release and are no part of its identity.
    """

    columns: Annotated[list[TableColumn], Field(min_length=1, max_length=MAX_VARIABLES)]
    method: MethodName
    copies: Annotated[int, Field(ge=1, le=MAX_COPIES, strict=True)] = 1
    protection: Annotated[list[Sentence], Field(max_length=MAX_SENTENCES)]

    @model_validator(mode="after")
    def _consistent(self) -> MaskedTableMessage:
        if not self.masked:
            raise ValueError("a masked table must have a masked column")
        for names in ([column.name for column in self.columns], self.names):
            if twice := sorted(name for name, count in Counter(names).items() if count > 1):
                raise ValueError(f"columns occur twice: {twice[:10]}")
        return self

    @property
    def masked(self) -> list[str]:
        """The names of the masked columns."""
        return [column.name for column in self.columns if column.role == "masked"]

    @property
    def names(self) -> list[str]:
        """The names of the columns of a part, in order."""
        return [name for column in self.columns for name in self._copies_of(column)]

    @property
    def schema_of_parts(self) -> RecordSchema:
        """The columns of a part, in order."""
        return RecordSchema(
            {
                name: None if column.categories is None else len(column.categories)
                for column in self.columns
                for name in self._copies_of(column)
            }
        )

    def copy_names(self, copy: int) -> dict[str, str]:
        """Return, per column, the name that copy 1 .. `copies` of it has in a part."""
        return {
            column.name: names[copy - 1 if len(names) > 1 else 0]
            for column in self.columns
            for names in [self._copies_of(column)]
        }

    def _copies_of(self, column: TableColumn) -> list[str]:
        if column.role == "told" or self.copies == 1:
            return [column.name]
        return [f"{column.name}@{copy}" for copy in range(1, self.copies + 1)]


MASKED_RECORDS: ReleaseKind[MaskedTableMessage, MaskedTableMessage] = ReleaseKind(
    name=MASKED,
    field="table",
    message=MaskedTableMessage,
    names=lambda table: table.names,
    categories=lambda table: sum(len(c.categories or ()) for c in table.columns),
    read=itself,
    columns=lambda table: {c.name: c.role == "told" for c in table.columns},
    schema=lambda table: table.schema_of_parts,
    plan=lambda _table: None,
    unbounded=lambda _table: (
        "Masked records carry no gamma: nothing bounds what they tell of one record."
    ),
    unexamined="Masked records cannot be checked against their method: only their owner can.",
)
