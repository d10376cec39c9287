"""`[share_model]` of the site file: which class a tree tells from what, and how anonymous it is."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from owner_agent.site.sections import (
    ColumnName,
    ColumnSection,
    Finite,
    Section,
    repeated_in,
    require_listed_once,
)
from pramana_core.errors import PramanaError
from pramana_core.model_sharing.attributes import CategoricalAttribute, NumericAttribute
from pramana_core.model_sharing.requirements import Requirement
from pramana_core.wire.base import Label

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Categories = Annotated[tuple[Label, ...], Field(min_length=2)]


class TargetSection(Section):
    """The class that a tree tells: its column and all its categories."""

    column: ColumnName
    categories: Categories
    missing: Label | None = None

    @model_validator(mode="after")
    def _listed_once(self) -> Self:
        require_listed_once(self.column, self.categories, self.missing)
        return self


class AttributeSection(ColumnSection):
    """An attribute of a tree: numbers of a range, or categories; `missing` is for empty cells."""

    low: Finite | None = None
    high: Finite | None = None
    whole: bool = False
    categories: Categories | None = None
    missing: Label | None = None

    @property
    def declared(self) -> bool:
        """Whether what values it may take is said here, and not looked up in the table."""
        return self.categories is not None or self.low is not None

    @model_validator(mode="after")
    def _of_one_type(self) -> Self:
        numbers = self.low is not None or self.high is not None or self.whole
        if (self.low is None) != (self.high is None):
            raise ValueError(f"the range of column {self.column!r} needs low and high")
        if self.categories is None:
            if self.missing is not None:
                raise ValueError(
                    f"column {self.column!r} lists no categories, so it has no missing"
                )
        elif numbers:
            raise ValueError(f"column {self.column!r} has categories, so it has no range")
        else:
            require_listed_once(self.column, self.categories, self.missing)
        return self

    @model_validator(mode="after")
    def _possible(self) -> Self:
        try:
            if self.categories is not None:
                CategoricalAttribute(self.column, self.categories)
            elif self.low is not None and self.high is not None:
                NumericAttribute(self.column, self.low, self.high, self.whole)
        except PramanaError as error:
            raise ValueError(error.message.rstrip(".")) from None
        return self


class RequirementSection(Section):
    """What every path must meet: `k` records; or classes as diverse as `c` and `l` say; or both.

    `counts` says by which counts diversity is judged: the "exact" ones of all classes, or "hits"
    and misses alone, as the tree tells them. Only splits are made whose parts all meet it: on car,
    nursery, adult and a clinic this predicts as well as growing first and cutting back, or better.
    """

    k: Annotated[float, Field(ge=1, allow_inf_nan=False)] | None = None
    c: Positive | None = None
    l: Annotated[int, Field(ge=2, strict=True)] | None = None  # noqa: E741
    counts: Literal["exact", "hits"] = "exact"

    @property
    def required(self) -> Requirement:
        """The requirement. Raises OptionError."""
        return Requirement(k=self.k, c=self.c, l=self.l, exact=self.counts == "exact")

    @model_validator(mode="after")
    def _possible(self) -> Self:
        try:
            _ = self.required
        except PramanaError as error:
            raise ValueError(error.message.rstrip(".")) from None
        return self


class GrowthSection(Section):
    """The limits of the tree's growth."""

    max_depth: Annotated[int, Field(ge=1, le=100, strict=True)] | None = None
    min_leaf: Annotated[int, Field(ge=1, strict=True)] = 1


class PrivateSection(Section):
    """A differentially private tree: its `epsilon`, for the replacement of one record by another.

    `depth` is the most questions on a path.
    """

    epsilon: Positive
    depth: Annotated[int, Field(ge=1, le=12, strict=True)] | None = None


class ShareModelSection(Section):
    """A decision tree to be released in place of records.

    `requirement` is what each of its paths must meet; "none" must be written out. `tell` says what
    a leaf tells: how many records are of its class and how many are not ("hits"), or the counts of
    all classes ("distribution"). A `private` tree needs no requirement, and all ranges declared.
    Records with empty cells are refused, or dropped and counted.
    """

    target: TargetSection
    attributes: Annotated[tuple[AttributeSection, ...], Field(min_length=1)]
    requirement: RequirementSection | Literal["none"] | None = None
    growth: GrowthSection = GrowthSection()
    tell: Literal["hits", "distribution"] = "hits"
    private: PrivateSection | None = None
    missing: Literal["refuse", "drop"] = "refuse"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the tree is learned from, the class last."""
        return (*(attribute.column for attribute in self.attributes), self.target.column)

    @property
    def required(self) -> RequirementSection | None:
        """What is required of each path; None for nothing."""
        return self.requirement if isinstance(self.requirement, RequirementSection) else None

    @model_validator(mode="after")
    def _columns_once(self) -> Self:
        if twice := repeated_in(self.columns):
            raise ValueError(
                f"column {twice[0]!r} is named twice; it is the class or one attribute"
            )
        return self

    @model_validator(mode="after")
    def _something_protects(self) -> Self:
        required, classes = self.required, len(self.target.categories)
        if self.requirement is None and self.private is None:
            raise ValueError(
                "say what every path must meet, as in requirement = { k = 10 }, or make the tree"
                ' private, as in private = { epsilon = 1 }; requirement = "none" releases it as it'
                " was grown"
            )
        if required is not None and required.l is not None and required.l > classes:
            raise ValueError(
                f"l = {required.l} asks for more classes than the {classes} of the target"
            )
        return self

    @model_validator(mode="after")
    def _private_alone(self) -> Self:
        if self.private is None:
            return self
        if self.requirement is not None:
            raise ValueError("a private tree is bounded by its epsilon; take the requirement out")
        if "growth" in self.model_fields_set:
            raise ValueError("a private tree is not grown so; private.depth limits it")
        if "tell" in self.model_fields_set:
            raise ValueError("a private tree tells noised counts of all classes; take tell out")
        if open_ended := [a.column for a in self.attributes if not a.declared]:
            raise ValueError(
                "a private tree needs all ranges declared, for one looked up in the table would"
                f" tell of it; give low and high of {', '.join(map(repr, open_ended))}"
            )
        return self


def sharing_mistakes(
    section: ShareModelSection,
    record_id: str,
    read: dict[str, bool],
    confidential: Collection[str] = (),
) -> list[str]:
    """Return what is wrong with a section beside the rest of the site file."""
    found = [
        f"share_model: column {name!r} is the record id; no tree may ask for it"
        for name in section.columns
        if name == record_id
    ]
    found += [
        f"share_model: column {name!r} is masked, too; it would leave in two forms"
        for name in section.columns
        if name in confidential
    ]
    # A private tree's epsilon adds to a randomization's; nothing could be added to no bound.
    if section.private is None:
        found += [
            f"share_model: column {name!r} is randomized by a variable, too; it would leave in two"
            " forms, one of them without a bound"
            for name in section.columns
            if read.get(name)
        ]
    return found
