"""Shared trees, the content of a release that has no records: a tree, and what is promised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from pramana_core.errors import ModelError
from pramana_core.model_sharing.exchange.documents import CategoricalDocument, TreeDocument
from pramana_core.model_sharing.exchange.text import NO_BOUND, promised
from pramana_core.model_sharing.private import EPSILONS
from pramana_core.model_sharing.requirements import Requirement
from pramana_core.model_sharing.tree import SharedTree
from pramana_core.wire.base import MAX_CATEGORIES, MAX_RECORDS, MAX_VARIABLES, Label, Message
from pramana_core.wire.releases.base import (
    MAX_SENTENCES,
    SHARED_TREE,
    DescribedContent,
    ReleaseKind,
    Sentence,
    itself,
)

_ROUNDING = 1 + 1e-9
"""Counts may be sums of fractions."""


class RequirementMessage(Message):
    """What the owner promises of every path; see `Requirement`. What is null is not promised."""

    k: Annotated[float, Field(ge=1, allow_inf_nan=False)] | None = None
    c: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    l: Annotated[int, Field(ge=2, le=MAX_CATEGORIES, strict=True)] | None = None  # noqa: E741
    exact: Annotated[bool, Field(strict=True)] = True

    @model_validator(mode="after")
    def _consistent(self) -> RequirementMessage:
        if (self.c is None) != (self.l is None) or (self.k is None and self.c is None):
            raise ValueError("a requirement must have k, or c and l together, or all three")
        return self

    def to_requirement(self) -> Requirement:
        """Return the requirement."""
        return Requirement(k=self.k, c=self.c, l=self.l, exact=self.exact)


class SharedTreeMessage(DescribedContent):
    """What a release of a shared tree holds: a decision tree, and what its owner says of it.

    `requirement` is what every path is promised to meet, and is checked on the counts that are
    told. `counts` says how these came about: counted (`exact`), taken from the paths that were
    merged in proportion (`propagated`), or with noise (`noised`). Then, and only then, `epsilon`
    bounds what the whole tree tells, its splits too, if one record is replaced by any other.
    `records` is of how many records it was learned, if that is told. `protection` is the owner's
    agent's own words, as in a masked table. Of a withdrawn release the `tree` is null and
    `columns` are the names that it spoke of; no other has them.
    """

    tree: TreeDocument | None
    requirement: RequirementMessage | None = None
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
        cls, tree: SharedTree, asked: Requirement | None, protection: Sequence[str], **told: Any
    ) -> SharedTreeMessage:
        """Return the message of a tree as it leaves.

        Args:
            tree: the tree, its leaves telling what is to be told.
            asked: what its paths met when they told all counts; what of it their counts still
                show is promised.
            protection: what its receiver must know, in sentences.
            told: the other fields.

        Raises:
            ModelError, ValidationError: names or sizes cannot be sent.
        """
        shown = promised(tree, asked)
        return cls(
            tree=TreeDocument.of(tree),
            requirement=None if shown is None else RequirementMessage(**vars(shown)),
            protection=list(protection),
            **told,
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
            len(a.categories) for a in self.tree.attributes if isinstance(a, CategoricalDocument)
        ]
        return len(self.tree.target.categories) + sum(of_attributes)

    def to_tree(self) -> SharedTree:
        """Return the tree. Raises ModelError, DomainError, LimitExceeded: there is none."""
        if self.tree is None:
            raise ModelError("The tree was deleted when its release was withdrawn.", where="tree")
        return self.tree.to_tree(noised=self.counts == "noised")

    def require_promised(self) -> SharedTree:
        """Return the tree, of which all is checked: that it is one, and meets what is promised.

        Raises:
            ModelError: the paths are not those of a tree, or their counts contradict what is said
                of them.
            DomainError: an attribute or the class cannot be.
            LimitExceeded: it is too large or too deep.
        """
        tree = self.to_tree()
        if self.requirement is not None:
            requirement = self.requirement.to_requirement()
            broken = [n for n, leaf in enumerate(tree.leaves, 1) if not requirement.met_by(leaf)]
            if broken:
                raise ModelError(
                    f"{len(broken)} of {len(tree.leaves)} paths do not meet the requirement that is"
                    " told with the tree.",
                    where="requirement",
                    remedy="Prune the tree until all do, or promise what it meets.",
                )
        self._require_records(tree.records)
        return tree

    def _require_records(self, counted: float) -> None:
        """Refuse paths that count other records than the tree was learned of. Raises ModelError."""
        told = self.records or MAX_RECORDS
        lacking = self.counts == "exact" and self.records and counted * _ROUNDING < told
        if self.counts != "noised" and (lacking or counted > told * _ROUNDING):
            raise ModelError(
                f"The paths count {counted:,.0f} records; the tree was learned of {told:,}"
                f"{'' if lacking else ' at most'}.",
                where="records",
            )

    def without_tree(self) -> SharedTreeMessage:
        """Return what is kept when the release is withdrawn: nothing that records were asked."""
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
    require=SharedTreeMessage.require_promised,
    remainder=SharedTreeMessage.without_tree,
)
