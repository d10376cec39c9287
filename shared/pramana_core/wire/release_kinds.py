"""The kinds of releases: for each kind its content, its parts and its privacy bound, in `KINDS`."""

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
"""The name of a kind of release."""

RANDOMIZED: ReleaseKindName = "randomized-records"
MASKED: ReleaseKindName = "masked-records"
SHARED_TREE: ReleaseKindName = "knowledge-model"

Sentence = Annotated[str, StringConstraints(min_length=1, max_length=400, strict=True)]
"""A sentence from an owner's agent about the protection of a release."""


class Content(Protocol):
    """The content of a release of some kind: a plan, a masked table, or a model."""

    @property
    def digest(self) -> str:
        """The identity of the content: 64 hexadecimal digits."""

    def canonical_json(self) -> bytes:
        """Return the content's JSON in the unique form in which it is stored and hashed."""


class DescribedContent(Message):
    """A content that is its own message. The owner's sentences are not part of its identity."""

    @property
    def digest(self) -> str:
        """The identity of the description, without `protection`."""
        return digest_of(self.model_dump(mode="json", exclude={"protection"}))

    def canonical_json(self) -> bytes:
        """Return the stored JSON: keys sorted, no spaces."""
        return canonical_json(self.model_dump(mode="json"))


def itself(content: Any) -> Any:
    """Return the content, for kinds whose content is its own message."""
    return content


MessageT = TypeVar("MessageT", bound=Message)
ContentT = TypeVar("ContentT", bound=Content)


@dataclass(frozen=True)
class ReleaseKind(Generic[MessageT, ContentT]):
    """A kind of release.

    Attributes:
        name: its name in messages.
        field: the key of the content in messages.
        message: the class of the content's message, which is also stored.
        names: the names of the columns; read before the content is built.
        categories: the count of categories of all columns; read before the content is built.
        read: returns the content of a message; raises an error if it is invalid.
        columns: its variables, and whether true values of each are released.
        schema: the columns of its parts, or None for a kind without parts and records.
        plan: the plan whose channels bound the loss of a record, if there is one.
        epsilon: the bound without a plan: the largest change of the log probability of any content
            if one record is replaced.
        unbounded: a sentence on the missing bound, or None if there is a bound.
        unexamined: the reason why its records cannot be examined, or None for a kind with a plan.
        command: the owner's command that sends such a release.
        require: raises errors that reading does not detect; called when a release is announced.
        remainder: returns the content that remains of a withdrawn release.
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
        """The key of the content's digest in a release's message."""
        return f"{self.field}_digest"

    @property
    def has_records(self) -> bool:
        """Whether its releases have records, which can be aligned with those of other releases."""
        return self.schema is not None

    def schema_of(self, content: ContentT) -> RecordSchema:
        """Return the columns of the parts of a release. Raises TypeError: the kind has no parts."""
        if self.schema is None:
            raise TypeError(f"releases of kind {self.name} have no parts")
        return self.schema(content)

    def parse(self, text: str) -> ContentT:
        """Return the content from its stored JSON. Raises ValueError and the errors of `read`."""
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
"""The name of a masking method, in lower case."""


class TableColumn(SparseMessage):
    """A column of a masked table: public (`told`) or masked; of numbers, or of categories.

    Only numbers are masked. A categorical column lists its categories in code order.
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
                f"column {self.name!r} must have categories if it is categorical, and only then"
            )
        if categorical and self.role == "masked":
            raise ValueError(f"column {self.name!r} is masked, so it must be numeric")
        if self.categories is not None and len(set(self.categories)) < len(self.categories):
            raise ValueError(f"column {self.name!r} has a duplicate category")
        return self


class MaskedTableMessage(DescribedContent):
    """The content of masked records: the columns and the masking.

    `protection` has the sentences of the owner's agent on how the method protects values, and on
    its limits; the identity excludes them.
    """

    columns: Annotated[list[TableColumn], Field(min_length=1, max_length=MAX_VARIABLES)]
    method: MethodName
    protection: Annotated[list[Sentence], Field(max_length=MAX_SENTENCES)]

    @model_validator(mode="after")
    def _consistent(self) -> MaskedTableMessage:
        if not self.masked:
            raise ValueError("a masked table must have a masked column")
        if twice := repeated_in(self.names):
            raise ValueError(f"duplicate columns: {first_few(twice)}")
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
        "Masked records have no gamma: what they reveal of one record is unbounded."
    ),
    unexamined="Only their owner can check masked records against their method.",
)


_ROUNDING = 1 + 1e-9
"""The relative tolerance of counts, which may be sums of fractions."""


class SharedTreeMessage(DescribedContent):
    """The content of a shared tree, and its owner's description of it.

    `requirement` is a guarantee for every path; it is checked on the counts of the tree. `counts`
    are `exact`, `propagated` (from merged paths in proportion), or `noised`. Only noised counts
    have an `epsilon`, which limits the loss from the whole tree, splits included, if one record is
    replaced by any other. `records` is the count of records that the tree was learned from, if
    public. `protection` is as in a masked table. A withdrawn release has no `tree`, only the names
    of its `columns`.
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
            raise ValueError("noised counts need an epsilon; other counts must not have one")
        if (self.tree is None) == (self.columns is None):
            raise ValueError("the tree is missing; only a withdrawn release has columns instead")
        return self

    @classmethod
    def of(
        cls, tree: SharedTree, asked: Requirement | None, protection: Sequence[str], **facts: Any
    ) -> SharedTreeMessage:
        """Return the message of a tree whose leaves show only counts that may be public.

        Of the requirement `asked`, the message states the part that these counts fulfil. Raises
        ModelError or ValidationError if names or sizes cannot be sent.
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
        """The count of categories of the attributes and the class in total."""
        if self.tree is None:
            return 0
        of_attributes = [
            len(a.categories) for a in self.tree.attributes if isinstance(a, CategoricalAttribute)
        ]
        return len(self.tree.target.categories) + sum(of_attributes)

    def to_tree(self) -> SharedTree:
        """Return the tree. Raises ModelError, DomainError, LimitExceeded if the tree is invalid."""
        if self.tree is None:
            raise ModelError("The tree was deleted when its release was withdrawn.", where="tree")
        return self.tree.to_tree(noised=self.counts == "noised")

    def require_promised(self) -> SharedTree:
        """Return the tree after a full check of its structure and its guarantees.

        Raises ModelError, DomainError, LimitExceeded: the tree is invalid or too large.
        """
        tree = self.to_tree()
        requirement = self.requirement
        if broken := sum(
            requirement is not None and not requirement.met_by(leaf) for leaf in tree.leaves
        ):
            raise ModelError(
                f"{broken} of {len(tree.leaves)} paths violate the requirement.",
                where="requirement",
                remedy="Prune the tree further, or release it with a weaker requirement.",
            )
        self._require_records(tree.records)
        return tree

    def _require_records(self, counted: float) -> None:
        records = self.records or MAX_RECORDS
        lacking = self.counts == "exact" and self.records and counted * _ROUNDING < records
        if self.counts != "noised" and (lacking or counted > records * _ROUNDING):
            raise ModelError(
                f"The paths count {counted:,.0f} records; the tree was learned from"
                f" {'' if lacking else 'at most '}{records:,}.",
                where="records",
            )

    def without_tree(self) -> SharedTreeMessage:
        """Return the content after a withdrawal: only the names of the columns."""
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
    unexamined="A shared tree has no records to examine.",
    command="owner-agent share-model --publish",
    require=SharedTreeMessage.require_promised,
    remainder=SharedTreeMessage.without_tree,
)


_KINDS: tuple[ReleaseKind[Any, Any], ...] = (RANDOMIZED_RECORDS, MASKED_RECORDS, SHARED_TREES)

KINDS: Mapping[str, ReleaseKind[Any, Any]] = {kind.name: kind for kind in _KINDS}
"""The kinds of releases by their names."""
