"""The kinds of releases, and masked tables, the content of one of them.

What differs by kind is asked of `KINDS`: nothing outside it branches on a kind's name.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, Protocol, TypeVar

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    StringConstraints,
    model_serializer,
    model_validator,
)

from shared.plan import Plan
from shared.wire.base import MAX_CATEGORIES, MAX_VARIABLES, Label, Message
from shared.wire.parts import RecordSchema
from shared.wire.plans import PlanMessage, VariableMessage

MAX_COPIES = 100
MAX_SENTENCES = 20

ReleaseKindName = Literal["randomized-records", "masked-records"]
"""The name of a kind of releases."""

RANDOMIZED: ReleaseKindName = "randomized-records"
MASKED: ReleaseKindName = "masked-records"

MethodName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$", strict=True)]
"""The name of a masking method, in small letters."""

Sentence = Annotated[str, StringConstraints(min_length=1, max_length=400, strict=True)]


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


class MaskedTableMessage(Message):
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

    def canonical_json(self) -> bytes:
        """Return what is stored: keys sorted, no spaces."""
        return _canonical(self.model_dump(mode="json"))

    @property
    def digest(self) -> str:
        """The identity of the description: columns, method and copies."""
        told = self.model_dump(mode="json", exclude={"protection"})
        return hashlib.sha256(_canonical(told)).hexdigest()


class Content(Protocol):
    """What a release holds, as its kind describes it: a plan, or a masked table."""

    @property
    def digest(self) -> str:
        """Its identity: 64 hexadecimal digits."""

    def canonical_json(self) -> bytes:
        """Return its JSON in the one form in which it is stored and hashed."""


MessageT = TypeVar("MessageT", bound=Message)
ContentT = TypeVar("ContentT", bound=Content)


@dataclass(frozen=True)
class ReleaseKind(Generic[MessageT, ContentT]):
    """A kind of releases.

    Attributes:
        name: what `kind` says in messages.
        field: the key of the content in messages.
        message: the content as it travels and is stored.
        names: the names of the columns of its parts; asked before anything is built of a message.
        categories: how many categories its columns have in all; asked as `names` is.
        read: the content of a message; raises what is wrong with it.
        columns: the names of its variables, and of each whether it is told as it is.
        schema: the columns of its parts.
        plan: the plan whose channels bound what it tells of a record; None if nothing does.
        unbounded: in plain words what it means that nothing does; None where a plan does.
        unexamined: in plain words why its records are not examined; None where a plan can be.
    """

    name: ReleaseKindName
    field: str
    message: type[MessageT]
    names: Callable[[MessageT], Sequence[str]]
    categories: Callable[[MessageT], int]
    read: Callable[[MessageT], ContentT]
    columns: Callable[[ContentT], Mapping[str, bool]]
    schema: Callable[[ContentT], RecordSchema]
    plan: Callable[[ContentT], Plan | None]
    unbounded: str | None = None
    unexamined: str | None = None

    @property
    def digest_field(self) -> str:
        """The key of the content's digest in messages."""
        return f"{self.field}_digest"

    def parse(self, text: str) -> ContentT:
        """Return the content of its stored JSON. Raises ValueError and as `read`."""
        return self.read(self.message.model_validate_json(text))


def _plan_variables(plan: PlanMessage) -> list[VariableMessage]:
    return [variable for block in plan.blocks for variable in block.variables]


def _plan_columns(plan: Plan) -> dict[str, bool]:
    return {name: block.channel.is_identity for block in plan.blocks for name in block.names}


def _itself(table: MaskedTableMessage) -> MaskedTableMessage:
    return table


_KINDS: tuple[ReleaseKind[Any, Any], ...] = (
    ReleaseKind(
        name=RANDOMIZED,
        field="plan",
        message=PlanMessage,
        names=lambda plan: [variable.name for variable in _plan_variables(plan)],
        categories=lambda plan: sum(len(v.categories) for v in _plan_variables(plan)),
        read=PlanMessage.to_plan,
        columns=_plan_columns,
        schema=RecordSchema.of,
        plan=lambda plan: plan,
    ),
    ReleaseKind(
        name=MASKED,
        field="table",
        message=MaskedTableMessage,
        names=lambda table: table.names,
        categories=lambda table: sum(len(c.categories or ()) for c in table.columns),
        read=_itself,
        columns=lambda table: {c.name: c.role == "told" for c in table.columns},
        schema=lambda table: table.schema_of_parts,
        plan=lambda _table: None,
        unbounded="Masked records carry no gamma: nothing bounds what they tell of one record.",
        unexamined="Masked records cannot be checked against their method: only their owner can.",
    ),
)

KINDS: Mapping[str, ReleaseKind[Any, Any]] = {kind.name: kind for kind in _KINDS}
"""The kinds of releases by their names."""


def _canonical(value: Mapping[str, Any]) -> bytes:
    return json.dumps(
        value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False
    ).encode()
