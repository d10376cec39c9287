"""The JSON of a shared tree: its paths, as section 2.1 has them, with labels in place of codes.

Whoever sends such a document is not believed. The forms below hold its shape and its sizes;
`TreeDocument.to_tree` checks the rest: that labels are known, that counts agree with each other,
and that the paths are those of one tree.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Discriminator, Field, StringConstraints, Tag

from shared.channels import CATEGORIES, VARIABLES
from shared.domain import Variable
from shared.errors import DomainError, InputError, LimitExceeded, ModelError
from shared.learn.common.documents import DocumentPart, read_json, write_json
from shared.mixed.table import LARGEST
from shared.model_sharing.core.attributes import (
    Attribute,
    CategoricalAttribute,
    NumericAttribute,
    TreeSchema,
)
from shared.model_sharing.core.conditions import Condition, Interval, Values
from shared.model_sharing.core.paths import tree_of
from shared.model_sharing.core.taxonomies import Taxonomy
from shared.model_sharing.core.tree import Leaf, Path, SharedTree, whole

LONGEST_LABEL = 256
"""Letters of the name of an attribute or a category."""

MOST_PATHS = 100_000
MOST_CONDITIONS = 500_000
MOST_VALUES = 2_000_000
"""The categories that all conditions of a tree name, together."""

MOST_COUNTED = float(1 << 33)
"""The most records of one path, and of a tree."""

LONGEST_TEXT = 32 << 20
"""The most bytes of a tree as JSON text."""

_TALLER = 16
"""The most levels of a taxonomy."""

_ROUNDING = 1e-9
"""Counts that should be equal may differ so, relative to the larger: sums are rounded."""


def _plain(words: str) -> str:
    if not words.strip() or any(ord(letter) < 32 or ord(letter) == 127 for letter in words):
        raise ValueError("a name must have letters, and no control characters")
    return words


Label = Annotated[
    str,
    StringConstraints(min_length=1, max_length=LONGEST_LABEL, strict=True),
    AfterValidator(_plain),
]
"""The name of an attribute, a class or a category."""

Count = Annotated[float, Field(ge=0, le=MOST_COUNTED)]
Number = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]

# Lists become tuples, whether they are read from JSON or from what JSON was read as.
Labels = Annotated[tuple[Label, ...], Field(strict=False, min_length=1, max_length=CATEGORIES)]


class TargetDocument(DocumentPart):
    """The class that the tree tells, its categories in code order."""

    name: Label
    categories: Labels


class NumericDocument(DocumentPart):
    """An attribute of numbers; see `NumericAttribute`."""

    name: Label
    type: Literal["numeric"]
    low: Number
    high: Number
    whole: bool = False


class CategoricalDocument(DocumentPart):
    """An attribute of categories; `taxonomy` has the ancestors of each, the nearest first."""

    name: Label
    type: Literal["categorical"]
    categories: Labels
    taxonomy: (
        Annotated[
            tuple[Annotated[tuple[Label, ...], Field(strict=False, max_length=_TALLER)], ...],
            Field(strict=False, max_length=CATEGORIES),
        ]
        | None
    ) = None


class ValuesDocument(DocumentPart):
    """The attribute has one of some categories."""

    attribute: Label
    values: Labels


class IntervalDocument(DocumentPart):
    """The attribute is above one number and at most another; null is no bound on that side."""

    attribute: Label
    above: Number | None
    up_to: Number | None


def _kind_of_condition(given: Any) -> str:
    asks = given if isinstance(given, dict) else getattr(given, "__dict__", {})
    return "values" if "values" in asks else "interval"


ConditionDocument = Annotated[
    Annotated[ValuesDocument, Tag("values")] | Annotated[IntervalDocument, Tag("interval")],
    Discriminator(_kind_of_condition),
]


class PathDocument(DocumentPart):
    """A path: its conditions, its class, and how many records are of it and of other classes.

    `distribution`, where it is told, has the counts of all classes in the order of the target's
    categories.
    """

    model_config = ConfigDict(serialize_by_alias=True)

    conditions: Annotated[tuple[ConditionDocument, ...], Field(strict=False, max_length=VARIABLES)]
    label: Label = Field(alias="class")
    hit: Count
    miss: Count
    distribution: (
        Annotated[tuple[Count, ...], Field(strict=False, max_length=CATEGORIES)] | None
    ) = None


class TreeDocument(DocumentPart):
    """A shared tree as its paths."""

    target: TargetDocument
    attributes: Annotated[
        tuple[Annotated[NumericDocument | CategoricalDocument, Field(discriminator="type")], ...],
        Field(strict=False, min_length=1, max_length=VARIABLES),
    ]
    paths: Annotated[
        tuple[PathDocument, ...], Field(strict=False, min_length=1, max_length=MOST_PATHS)
    ]

    @classmethod
    def of(cls, tree: SharedTree) -> TreeDocument:
        """Return the document of a tree; conditions that always hold are left out.

        Raises:
            ModelError: a name is too long, or the tree has too many paths, to be released.
        """
        schema = tree.schema
        told = {
            "target": {"name": schema.target.name, "categories": schema.target.categories},
            "attributes": [_attribute_json(attribute) for attribute in schema.attributes],
            "paths": [_path_json(schema, path) for path in tree.paths()],
        }
        try:
            return cls.model_validate(told)
        except ValueError as error:
            raise ModelError(
                "The tree is too large, or has names that are too long or not plain text, to be"
                " written as a message.",
                remedy=f"Names may have {LONGEST_LABEL} letters, a tree {MOST_PATHS:,} paths.",
            ) from error

    def to_tree(self, *, noised: bool = False) -> SharedTree:
        """Return the tree, once all that can be wrong with it was checked.

        Its nodes are found anew from the paths, so that its leaves may be in another order.

        Args:
            noised: whether the counts have noise, so that a path's class need not be that of most
                of its records.

        Raises:
            DomainError: an attribute cannot be, or a name is there twice.
            ModelError: a path names what the schema does not have, its counts do not agree, or
                the paths are not those of one tree.
            LimitExceeded: there are more conditions than `MOST_CONDITIONS`, or it is too deep.
        """
        _require_small(self)
        schema = self.tree_schema()
        codes = {
            a.name: {label: code for code, label in enumerate(a.categories)}
            for a in schema.attributes
            if isinstance(a, CategoricalAttribute)
        }
        paths = [
            Path(_conditions(schema, codes, path, number), _leaf(schema, path, number, noised))
            for number, path in enumerate(self.paths, 1)
        ]
        return tree_of(schema, paths)

    def tree_schema(self) -> TreeSchema:
        """Return the class and the attributes. Raises DomainError."""
        target = Variable(self.target.name, self.target.categories)
        return TreeSchema(target, tuple(_attribute(told) for told in self.attributes))


def write_tree_json(tree: SharedTree) -> str:
    """Return a tree as JSON text; every number is written so that nothing of it is lost."""
    return write_json(TreeDocument.of(tree).model_dump(mode="json", by_alias=True))


def read_tree_json(text: str | bytes, *, noised: bool = False) -> SharedTree:
    """Read a tree from JSON text.

    Raises:
        InputError: the text is no such document.
        LimitExceeded, DomainError, ModelError: it is, but no tree; see `TreeDocument.to_tree`.
    """
    require_length(text)
    remedy = "Give the JSON of a tree as `write_tree_json`, or an owner's message, has it."
    try:
        words = text if isinstance(text, str) else text.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError("The text of the tree is not UTF-8.", remedy=remedy) from None
    return read_json(TreeDocument, words, "a shared tree", remedy).to_tree(noised=noised)


def require_length(text: str | bytes) -> None:
    """Check that a text is not too long to be read. Raises LimitExceeded."""
    if len(text) > LONGEST_TEXT:
        raise LimitExceeded(
            f"The text has {len(text):,} bytes; at most {LONGEST_TEXT:,} are read.",
            remedy="Release a smaller tree.",
        )


def _attribute_json(attribute: Attribute) -> dict[str, Any]:
    if isinstance(attribute, NumericAttribute):
        return {
            "name": attribute.name,
            "type": "numeric",
            "low": float(attribute.low),
            "high": float(attribute.high),
            "whole": attribute.whole,
        }
    taxonomy = attribute.taxonomy
    return {
        "name": attribute.name,
        "type": "categorical",
        "categories": attribute.categories,
        "taxonomy": None if taxonomy is None else taxonomy.ancestors,
    }


def _path_json(schema: TreeSchema, path: Path) -> dict[str, Any]:
    leaf = path.leaf
    return {
        "conditions": [
            condition_json(schema[name], path.conditions[name])
            for name in path.conditions
            if path.conditions[name] != whole(schema, name)
        ],
        "class": schema.target.categories[leaf.label],
        "hit": float(leaf.hit),
        "miss": float(leaf.miss),
        "distribution": None
        if leaf.distribution is None
        else tuple(float(count) for count in leaf.distribution),
    }


def condition_json(attribute: Attribute, condition: Condition) -> dict[str, Any]:
    """Return a condition on an attribute as what JSON can say."""
    if isinstance(condition, Interval):
        above, up_to = condition.above, condition.up_to
        return {
            "attribute": attribute.name,
            "above": float(above) if math.isfinite(above) else None,
            "up_to": float(up_to) if math.isfinite(up_to) else None,
        }
    labels = attribute.categories if isinstance(attribute, CategoricalAttribute) else ()
    return {"attribute": attribute.name, "values": [labels[code] for code in condition.codes]}


def _require_small(document: TreeDocument) -> None:
    asked = [condition for path in document.paths for condition in path.conditions]
    named = sum(len(c.values) for c in asked if isinstance(c, ValuesDocument))
    if len(asked) > MOST_CONDITIONS or named > MOST_VALUES:
        raise LimitExceeded(
            f"The paths have {len(asked):,} conditions that name {named:,} categories; at most"
            f" {MOST_CONDITIONS:,} and {MOST_VALUES:,} are taken.",
            where="paths",
            remedy="Release a smaller tree.",
        )
    if sum(path.hit + path.miss for path in document.paths) > MOST_COUNTED:
        raise ModelError(
            f"The paths count more than {MOST_COUNTED:,.0f} records together.", where="paths"
        )


def _attribute(told: NumericDocument | CategoricalDocument) -> Attribute:
    if isinstance(told, NumericDocument):
        return NumericAttribute(told.name, float(told.low), float(told.high), told.whole)
    if told.taxonomy is None:
        return CategoricalAttribute(told.name, told.categories)
    if len(told.taxonomy) != len(told.categories):
        raise DomainError(
            f"The taxonomy of {told.name!r} must have the ancestors of each category.",
            where=told.name,
        )
    return CategoricalAttribute(told.name, told.categories, Taxonomy(told.taxonomy))


def _conditions(
    schema: TreeSchema, codes: dict[str, dict[str, int]], path: PathDocument, number: int
) -> dict[str, Condition]:
    where = f"paths/{number}"
    found: dict[str, Condition] = {}
    for asked in path.conditions:
        name = asked.attribute
        if name not in schema.names:
            raise ModelError(f"Path {number} asks for {name!r}, no attribute.", where=where)
        if name in found:
            raise ModelError(f"Path {number} has two conditions on {name!r}.", where=where)
        if isinstance(asked, ValuesDocument):
            known = codes.get(name, {})
            places = sorted({known[label] for label in asked.values if label in known})
            if len(places) < len(asked.values):
                raise ModelError(
                    f"Path {number} asks for categories of {name!r} that are not listed among its"
                    " own, or names one twice.",
                    where=where,
                )
            found[name] = Values(tuple(places))
        else:
            found[name] = _interval(asked, number)
    return found


def _interval(asked: IntervalDocument, number: int) -> Interval:
    above = -math.inf if asked.above is None else float(asked.above)
    up_to = math.inf if asked.up_to is None else float(asked.up_to)
    if not above < up_to or (asked.above is None and asked.up_to is None):
        raise ModelError(
            f"Path {number} has an interval of {asked.attribute!r} that no number is in, or all"
            " are.",
            where=f"paths/{number}",
            remedy="`above` must be less than `up_to`, and one of them a number.",
        )
    return Interval(above, up_to)


def _leaf(schema: TreeSchema, path: PathDocument, number: int, noised: bool) -> Leaf:
    where = f"paths/{number}"
    if path.label not in schema.target.categories:
        raise ModelError(f"Path {number} has a class that is not listed.", where=where)
    label = schema.target.code(path.label)
    hit, miss, counts = float(path.hit), float(path.miss), path.distribution
    least = 1 - _ROUNDING
    if counts is not None:
        if len(counts) != schema.classes:
            raise ModelError(
                f"Path {number} counts {len(counts)} classes; there are {schema.classes}.",
                where=where,
            )
        total = sum(counts)
        near = _ROUNDING * total
        if abs(counts[label] - hit) > near or abs(total - counts[label] - miss) > near:
            raise ModelError(
                f"The counts of path {number} do not agree: `hit` must be the count of its class"
                " in `distribution`, and `miss` the sum of the others.",
                where=where,
            )
        rarer = counts[label] < least * max(counts)
    else:
        rarer = hit * (schema.classes - 1) < least * miss
    if rarer and not noised:
        raise ModelError(
            f"The class of path {number} is not that of most of its records.",
            where=where,
            remedy="Give the class that has the largest count.",
        )
    return Leaf(label, hit, miss, None if counts is None else tuple(map(float, counts)))
