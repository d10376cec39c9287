"""The kinds of releases: the content, the parts and the privacy bound of each, in `KINDS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, Protocol, TypeVar

from pydantic import Field, StringConstraints, model_validator

from pramana_core.alike import first_few, repeated_in
from pramana_core.canonical import canonical_json, digest_of
from pramana_core.errors import ModelError
from pramana_core.model_sharing.attributes import CategoricalAttribute
from pramana_core.model_sharing.exchange.documents import TreeDocument
from pramana_core.model_sharing.exchange.protection import NO_BOUND, promised
from pramana_core.model_sharing.private_options import EPSILONS
from pramana_core.model_sharing.requirements import Requirement
from pramana_core.model_sharing.tree import SharedTree
from pramana_core.plan import Plan
from pramana_core.wire.base import (
    MAX_CATEGORIES,
    MAX_RECORDS,
    MAX_VARIABLES,
    Label,
    Message,
    SparseMessage,
)
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
        return digest_of(self.model_dump(mode="json", exclude={"protection"}))

    def canonical_json(self) -> bytes:
        """Return what is stored: keys sorted, no spaces."""
        return canonical_json(self.model_dump(mode="json"))


def itself(content: Any) -> Any:
    """Return the content of a message that is one."""
    return content


MessageT = TypeVar("MessageT", bound=Message)
ContentT = TypeVar("ContentT", bound=Content)


@dataclass(frozen=True)
class ReleaseKind(Generic[MessageT, ContentT]):
    """A kind of releases.

    Attributes:
        name: its name in messages.
        field: the key of the content in messages.
        message: the content as it travels and is stored.
        names: the names of the columns; read before the content is built.
        categories: the number of categories of all columns; read before the content is built.
        read: the content of a message; raises what is wrong with it.
        columns: its variables, and whether each is released as it is.
        schema: the columns of its parts; None for a kind without parts and records.
        plan: the plan whose channels bound what it discloses of a record, if one does.
        epsilon: the bound where no plan is: the most that replacing one record changes the
            logarithm of the probability of any content.
        unbounded: in words what it means that nothing bounds it; None where something does.
        unexamined: in words why its records are not examined; None where a plan can be.
        command: by which an owner sends one.
        require: raises what reading does not find wrong; called when a release is announced.
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
    command: str = "owner-agent publish"
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


MethodName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$", strict=True)]
"""The name of a masking method, in small letters."""


class TableColumn(SparseMessage):
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


class MaskedTableMessage(DescribedContent):
    """The content of masked records: the columns, and how they were masked.

    `protection` says in the owner's agent's words what the method protects and what it does not; it
    is no part of the identity.
    """

    columns: Annotated[list[TableColumn], Field(min_length=1, max_length=MAX_VARIABLES)]
    method: MethodName
    protection: Annotated[list[Sentence], Field(max_length=MAX_SENTENCES)]

    @model_validator(mode="after")
    def _consistent(self) -> MaskedTableMessage:
        if not self.masked:
            raise ValueError("a masked table must have a masked column")
        if twice := repeated_in(self.names):
            raise ValueError(f"columns occur twice: {first_few(twice)}")
        return self

    @property
    def masked(self) -> list[str]:
        """The names of the masked columns."""
        return [column.name for column in self.columns if column.role == "masked"]

    @property
    def names(self) -> list[str]:
        """The names of the columns, in order."""
        return [column.name for column in self.columns]

    @property
    def schema_of_parts(self) -> RecordSchema:
        """The columns of a part, in order."""
        return RecordSchema(
            {c.name: None if c.categories is None else len(c.categories) for c in self.columns}
        )


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
    command="owner-agent mask --publish",
    unbounded=lambda _table: (
        "Masked records carry no gamma: nothing bounds what they tell of one record."
    ),
    unexamined="Masked records cannot be checked against their method: only their owner can.",
)


_ROUNDING = 1 + 1e-9
"""Counts may be sums of fractions."""


class SharedTreeMessage(DescribedContent):
    """The content of a shared tree, and what its owner says of it.

    `requirement` is what every path is promised to meet; it is checked on the counts of the tree.
    `counts` are counted (`exact`), taken from merged paths in proportion (`propagated`), or have
    noise (`noised`). Then, and only then, `epsilon` bounds what the whole tree discloses, splits
    included, if one record is replaced by any other. `records` is the number of records it was
    learned from, if public. `protection` is as in a masked table. A withdrawn release has no
    `tree`, but `columns`, the names in it.
    """

    tree: TreeDocument | None
    requirement: Requirement | None = None
    counts: Literal["exact", "propagated", "noised"] = "exact"
    epsilon: Annotated[float, Field(ge=EPSILONS[0], le=EPSILONS[1], allow_inf_nan=False)] | None = (
        None
    )
    records: Annotated[int, Field(ge=1, le=MAX_RECORDS, strict=True)] | None = None
    protection: Annotated[list[Sentence], Field(max_length=MAX_SENTENCES)]
    columns: Annotated[list[Label], Field(max_length=MAX_VARIABLES + 1)] | None = None

    @model_validator(mode="after")
    def _consistent(self) -> SharedTreeMessage:
        if (self.counts == "noised") != (self.epsilon is not None):
            raise ValueError("there must be an epsilon if the counts are noised, and else none")
        if (self.tree is None) == (self.columns is None):
            raise ValueError("there must be a tree; only a withdrawn release has columns instead")
        return self

    @classmethod
    def of(
        cls, tree: SharedTree, asked: Requirement | None, protection: Sequence[str], **facts: Any
    ) -> SharedTreeMessage:
        """Return the message of a tree whose leaves show what may be public.

        Of the requirement `asked`, which its paths met with all counts, the part is promised that
        the counts still show. Raises ModelError, ValidationError: names or sizes cannot be sent.
        """
        return cls(
            tree=TreeDocument.of(tree),
            requirement=promised(tree, asked),
            protection=list(protection),
            **facts,
        )

    @property
    def names(self) -> list[str]:
        """The names of the attributes and, last, of the class."""
        if self.tree is None:
            return list(self.columns or ())
        return [*(attribute.name for attribute in self.tree.attributes), self.tree.target.name]

    @property
    def categories(self) -> int:
        """How many categories the attributes and the class have in all."""
        if self.tree is None:
            return 0
        of_attributes = [
            len(a.categories) for a in self.tree.attributes if isinstance(a, CategoricalAttribute)
        ]
        return len(self.tree.target.categories) + sum(of_attributes)

    def to_tree(self) -> SharedTree:
        """Return the tree. Raises ModelError, DomainError, LimitExceeded: there is none."""
        if self.tree is None:
            raise ModelError("The tree was deleted when its release was withdrawn.", where="tree")
        return self.tree.to_tree(noised=self.counts == "noised")

    def require_promised(self) -> SharedTree:
        """Return the tree, of which all is checked: that it is one, and meets what is promised.

        Raises ModelError, DomainError, LimitExceeded: it is not, or too large.
        """
        tree = self.to_tree()
        asked = self.requirement
        if broken := sum(asked is not None and not asked.met_by(leaf) for leaf in tree.leaves):
            raise ModelError(
                f"{broken} of {len(tree.leaves)} paths do not meet the requirement that is told"
                " with the tree.",
                where="requirement",
                remedy="Prune the tree until all do, or promise what it meets.",
            )
        self._require_records(tree.records)
        return tree

    def _require_records(self, counted: float) -> None:
        """Refuse paths that count other records than the tree was learned of. Raises ModelError."""
        records = self.records or MAX_RECORDS
        lacking = self.counts == "exact" and self.records and counted * _ROUNDING < records
        if self.counts != "noised" and (lacking or counted > records * _ROUNDING):
            raise ModelError(
                f"The paths count {counted:,.0f} records; the tree was learned of {records:,}"
                f"{'' if lacking else ' at most'}.",
                where="records",
            )

    def without_tree(self) -> SharedTreeMessage:
        """Return what is kept of a withdrawn release: the names of its columns."""
        return self.model_copy(
            update={"tree": None, "columns": self.names, "records": None, "protection": []}
        )


SHARED_TREES: ReleaseKind[SharedTreeMessage, SharedTreeMessage] = ReleaseKind(
    name=SHARED_TREE,
    field="model",
    message=SharedTreeMessage,
    names=lambda model: model.names,
    categories=lambda model: model.categories,
    read=itself,
    columns=lambda model: dict.fromkeys(model.names, False),
    plan=lambda _model: None,
    epsilon=lambda model: model.epsilon,
    unbounded=lambda model: None if model.epsilon is not None else NO_BOUND,
    unexamined="A shared tree has no records that could be examined.",
    command="owner-agent share-model --publish",
    require=SharedTreeMessage.require_promised,
    remainder=SharedTreeMessage.without_tree,
)


_KINDS: tuple[ReleaseKind[Any, Any], ...] = (RANDOMIZED_RECORDS, MASKED_RECORDS, SHARED_TREES)

KINDS: Mapping[str, ReleaseKind[Any, Any]] = {kind.name: kind for kind in _KINDS}
"""The kinds of releases by their names."""
