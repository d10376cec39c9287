"""What a kind of releases is: its content, its parts, and what bounds what it tells.

Also here:

* Records that were randomized under a plan, the first kind of release.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, Protocol, TypeVar

from pydantic import StringConstraints

from pramana_core.plan import Plan
from pramana_core.wire.base import Message
from pramana_core.wire.channels import PlanMessage, VariableMessage
from pramana_core.wire.parts import RecordSchema

MAX_SENTENCES = 20

ReleaseKindName = Literal["randomized-records", "masked-records", "knowledge-model"]
"""The name of a kind of releases."""

RANDOMIZED: ReleaseKindName = "randomized-records"
MASKED: ReleaseKindName = "masked-records"
SHARED_TREE: ReleaseKindName = "knowledge-model"

Sentence = Annotated[str, StringConstraints(min_length=1, max_length=400, strict=True)]
"""A sentence of an owner's agent on what a release protects."""


class Content(Protocol):
    """What a release holds, as its kind describes it: a plan, a masked table, or a model."""

    @property
    def digest(self) -> str:
        """Its identity: 64 hexadecimal digits."""

    def canonical_json(self) -> bytes:
        """Return its JSON in the one form in which it is stored and hashed."""


class DescribedContent(Message):
    """A content that is its own message, with words of the owner's that are not its identity."""

    @property
    def digest(self) -> str:
        """The identity of what is described; `protection` is no part of it."""
        told = self.model_dump(mode="json", exclude={"protection"})
        return hashlib.sha256(_canonical(told)).hexdigest()

    def canonical_json(self) -> bytes:
        """Return what is stored: keys sorted, no spaces."""
        return _canonical(self.model_dump(mode="json"))


def _canonical(value: Mapping[str, Any]) -> bytes:
    return json.dumps(
        value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False
    ).encode()


def itself(content: Any) -> Any:
    """Return the content of a message that is one."""
    return content


MessageT = TypeVar("MessageT", bound=Message)
ContentT = TypeVar("ContentT", bound=Content)


@dataclass(frozen=True)
class ReleaseKind(Generic[MessageT, ContentT]):
    """A kind of releases.

    Attributes:
        name: what `kind` says in messages.
        field: the key of the content in messages.
        message: the content as it travels and is stored.
        names: the names of the columns it speaks of; asked before anything is built of a message.
        categories: how many categories its columns have in all; asked as `names` is.
        read: the content of a message; raises what is wrong with it.
        columns: the names of its variables, and of each whether it is told as it is.
        schema: the columns of its parts; None of a kind that has neither parts nor records: all
            that such a release tells is its content, which is there as soon as it is announced.
        plan: the plan whose channels bound what it tells of a record; None if none does.
        epsilon: what bounds it where no plan does: the most that replacing one record can multiply
            the probability of any content by, as a logarithm; None if nothing does.
        unbounded: in plain words what it means that nothing bounds it; None where something does.
        unexamined: in plain words why its records are not examined; None where a plan can be.
        require: raises what is wrong with a content that reading does not find. It is asked when a
            release is announced, and never again.
        remainder: what is kept of the content of a withdrawn release.
    """

    name: ReleaseKindName
    field: str
    message: type[MessageT]
    names: Callable[[MessageT], Sequence[str]]
    categories: Callable[[MessageT], int]
    read: Callable[[MessageT], ContentT]
    columns: Callable[[ContentT], Mapping[str, bool]]
    plan: Callable[[ContentT], Plan | None]
    schema: Callable[[ContentT], RecordSchema] | None = None
    epsilon: Callable[[ContentT], float | None] = lambda _content: None
    unbounded: Callable[[ContentT], str | None] = lambda _content: None
    unexamined: str | None = None
    require: Callable[[ContentT], object] = lambda _content: None
    remainder: Callable[[ContentT], ContentT] = itself

    @property
    def digest_field(self) -> str:
        """The key of the content's digest in messages."""
        return f"{self.field}_digest"

    @property
    def has_records(self) -> bool:
        """Whether its releases have parts with records, which align with those of others."""
        return self.schema is not None

    def schema_of(self, content: ContentT) -> RecordSchema:
        """Return the columns of the parts of a release that has some."""
        if self.schema is None:
            raise TypeError(f"releases of kind {self.name} have no parts")
        return self.schema(content)

    def parse(self, text: str) -> ContentT:
        """Return the content of its stored JSON. Raises ValueError and as `read`."""
        return self.read(self.message.model_validate_json(text))


# Records that were randomized under a plan, the first kind of release.


def _variables(plan: PlanMessage) -> list[VariableMessage]:
    return [variable for block in plan.blocks for variable in block.variables]


RANDOMIZED_RECORDS: ReleaseKind[PlanMessage, Plan] = ReleaseKind(
    name=RANDOMIZED,
    field="plan",
    message=PlanMessage,
    names=lambda plan: [variable.name for variable in _variables(plan)],
    categories=lambda plan: sum(len(v.categories) for v in _variables(plan)),
    read=PlanMessage.to_plan,
    columns=lambda plan: {n: b.channel.is_identity for b in plan.blocks for n in b.names},
    schema=RecordSchema.of,
    plan=lambda plan: plan,
)
