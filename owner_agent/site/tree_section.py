"""`[share_model]` of the site file: a tree's class, attributes and anonymity requirement."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from owner_agent.site.sections import (
    ColumnName,
    ColumnSection,
    Finite,
    Section,
    require_listed_once,
)
from pramana_core.alike import repeated_in
from pramana_core.errors import PramanaError
from pramana_core.model_sharing.attributes import CategoricalAttribute, NumericAttribute
from pramana_core.model_sharing.requirements import Requirement
from pramana_core.wire.base import Label

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Categories = Annotated[tuple[Label, ...], Field(min_length=2)]


class TargetSection(Section):
    """The class that a tree predicts: its column and all its categories."""

    column: ColumnName
    categories: Categories
    missing: Label | None = None

    @model_validator(mode="after")
    def _listed_once(self) -> Self:
        require_listed_once(self.column, self.categories, self.missing)
        return self


class AttributeSection(ColumnSection):
    """An attribute of a tree: a range of numbers, or categories.

    `missing` is the category that empty cells get.
    """

    low: Finite | None = None
    high: Finite | None = None
    whole: bool = False
    categories: Categories | None = None
    missing: Label | None = None

    @property
    def declared(self) -> bool:
        """Whether the site file lists the possible values, so the table's are not read."""
        return self.categories is not None or self.low is not None

    @model_validator(mode="after")
    def _of_one_type(self) -> Self:
        numbers = self.low is not None or self.high is not None or self.whole
        if (self.low is None) != (self.high is None):
            raise ValueError(f"the range of column {self.column!r} needs both 'low' and 'high'")
        if self.categories is None:
            if self.missing is not None:
                raise ValueError(
                    f"column {self.column!r} has the option 'missing' but no list 'categories'"
                )
        elif numbers:
            raise ValueError(
                f"column {self.column!r} has both categories and a range; keep one of them"
            )
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
    """The requirement for every path: `k` records, diversity of classes by `c` and `l`, or both.

    `counts` selects how diversity is computed: from "exact" counts of all classes, or from "hits"
    and misses as the tree publishes them. A split is made only if all its parts meet the
    requirement. On car, nursery, adult and a clinic, the resulting trees predict at least as well
    as trees that are grown first and then pruned.
    """

    k: Annotated[float, Field(ge=1, allow_inf_nan=False)] | None = None
    c: Positive | None = None
    l: Annotated[int, Field(ge=2, strict=True)] | None = None  # noqa: E741
    counts: Literal["exact", "hits"] = "exact"

    @property
    def required(self) -> Requirement:
        """The requirement in the form that the learner uses. Raises OptionError."""
        return Requirement(k=self.k, c=self.c, l=self.l, exact=self.counts == "exact")

    @model_validator(mode="after")
    def _possible(self) -> Self:
        try:
            _ = self.required
        except PramanaError as error:
            raise ValueError(error.message.rstrip(".")) from None
        return self


class GrowthSection(Section):
    """The limits for growing the tree."""

    max_depth: Annotated[int, Field(ge=1, le=100, strict=True)] | None = None
    min_leaf: Annotated[int, Field(ge=1, strict=True)] = 1


class PrivateSection(Section):
    """A differentially private tree. `epsilon` bounds the effect of replacing one record.

    `depth` is the largest count of splits on a path.
    """

    epsilon: Positive
    depth: Annotated[int, Field(ge=1, le=12, strict=True)] | None = None


class ShareModelSection(Section):
    """A decision tree that is released instead of records.

    `requirement` applies to each path; "none" must be written explicitly. `tell` selects the counts
    published for a leaf: records of its class and of others ("hits"), or records of each class
    ("distribution"). A `private` tree has no requirement, but needs declared ranges. Records with
    empty cells are errors ("refuse") or omitted and counted ("drop").
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
        """The columns that the tree is learned from; the class is the last one."""
        return (*(attribute.column for attribute in self.attributes), self.target.column)

    @property
    def required(self) -> RequirementSection | None:
        """The requirement for each path, or None if there is no requirement."""
        return self.requirement if isinstance(self.requirement, RequirementSection) else None

    @model_validator(mode="after")
    def _columns_once(self) -> Self:
        if twice := repeated_in(self.columns):
            raise ValueError(
                f"column {twice[0]!r} is named twice; list it once, as target or attribute"
            )
        return self

    @model_validator(mode="after")
    def _something_protects(self) -> Self:
        required, classes = self.required, len(self.target.categories)
        if self.requirement is None and self.private is None:
            raise ValueError(
                "give a requirement for every path, such as requirement = { k = 10 }, or make the"
                " tree private, such as private = { epsilon = 1 }; requirement ="
                ' "none" releases the tree without protection'
            )
        if required is not None and required.l is not None and required.l > classes:
            raise ValueError(
                f"l = {required.l} exceeds the number of the target's classes, {classes}"
            )
        return self

    @model_validator(mode="after")
    def _private_alone(self) -> Self:
        if self.private is None:
            return self
        if self.requirement is not None:
            raise ValueError("a private tree is protected by its epsilon; remove the requirement")
        if "growth" in self.model_fields_set:
            raise ValueError("a private tree does not use 'growth'; set 'private.depth' instead")
        if "tell" in self.model_fields_set:
            raise ValueError("a private tree publishes noisy counts of all classes; remove 'tell'")
        if open_ended := [a.column for a in self.attributes if not a.declared]:
            raise ValueError(
                "a private tree needs declared ranges, because a range from the table would reveal"
                f" records; give low and high of {', '.join(map(repr, open_ended))}"
            )
        return self


def sharing_mistakes(
    section: ShareModelSection,
    record_id: str,
    read: dict[str, bool],
    confidential: Collection[str] = (),
) -> list[str]:
    """Return sentences on the conflicts between this section and the rest of the site file."""
    found = [
        f"share_model: column {name!r} is the record id, which a tree must not use"
        for name in section.columns
        if name == record_id
    ]
    found += [
        f"share_model: column {name!r} is also masked, so it would be released in two forms"
        for name in section.columns
        if name in confidential
    ]
    # A private tree's epsilon adds to a randomization's; other trees have no bound to add.
    if section.private is None:
        found += [
            f"share_model: column {name!r} is also randomized by a variable, so it would be "
            "released in two forms, one of them without a privacy bound"
            for name in section.columns
            if read.get(name)
        ]
    return found
