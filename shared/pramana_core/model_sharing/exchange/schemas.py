"""The JSON of a schema and of conditions, with labels in place of codes.

Whoever sends such a document is not believed. The forms below hold its shape and its sizes; what
makes of them a schema or a condition checks the rest.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, StringConstraints, Tag

from pramana_core.channels import CATEGORIES, VARIABLES
from pramana_core.domain import Variable
from pramana_core.errors import DomainError, ModelError
from pramana_core.learn.common.documents import DocumentPart
from pramana_core.mixed.table import LARGEST
from pramana_core.model_sharing.attributes import (
    MOST_LEVELS,
    Attribute,
    CategoricalAttribute,
    NumericAttribute,
    Taxonomy,
    TreeSchema,
)
from pramana_core.model_sharing.tree import Condition, Interval, Values

LONGEST_LABEL = 256
"""Letters of the name of an attribute or a category."""

MOST_COUNTED = float(1 << 33)
"""The most records of one path, and of a tree."""

Codes = Mapping[str, Mapping[str, int]]


_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
"""What steers a terminal, reverses the text beside it, or cannot be written in a picture."""


def _plain(words: str) -> str:
    if not words.strip() or _UNSEEN.search(words):
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
            tuple[Annotated[tuple[Label, ...], Field(strict=False, max_length=MOST_LEVELS)], ...],
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


class SchemaDocument(DocumentPart):
    """What is told, and what it may be told from."""

    target: TargetDocument
    attributes: Annotated[
        tuple[Annotated[NumericDocument | CategoricalDocument, Field(discriminator="type")], ...],
        Field(strict=False, min_length=1, max_length=VARIABLES),
    ]

    def tree_schema(self) -> TreeSchema:
        """Return the class and the attributes. Raises DomainError."""
        target = Variable(self.target.name, self.target.categories)
        return TreeSchema(target, tuple(_attribute(told) for told in self.attributes))


def schema_json(schema: TreeSchema) -> dict[str, Any]:
    """Return a schema as what JSON can say, in the form of `SchemaDocument`."""
    return {
        "target": {"name": schema.target.name, "categories": schema.target.categories},
        "attributes": [_attribute_json(attribute) for attribute in schema.attributes],
    }


def codes_of(schema: TreeSchema) -> Codes:
    """Return the codes of the labels of the class and of each categorical attribute, by name."""
    known = {a.name: a.categories for a in schema.attributes if isinstance(a, CategoricalAttribute)}
    known[schema.target.name] = schema.target.categories
    return {
        name: {label: code for code, label in enumerate(labels)} for name, labels in known.items()
    }


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


def condition_of(
    schema: TreeSchema,
    codes: Codes,
    asked: ValuesDocument | IntervalDocument,
    what: str,
    where: str,
) -> Condition:
    """Return a condition.

    Args:
        schema: what it must be on.
        codes: those of `codes_of`.
        asked: the condition as it was sent.
        what: what has it, in words, capitalized.
        where: the same for machines.

    Raises:
        ModelError: the schema has no such attribute or category, or no number meets it.
    """
    name = asked.attribute
    if name not in schema:
        raise ModelError(f"{what} asks for {name!r}, no attribute.", where=where)
    if isinstance(asked, IntervalDocument):
        above = -math.inf if asked.above is None else float(asked.above)
        up_to = math.inf if asked.up_to is None else float(asked.up_to)
        if not above < up_to or (asked.above is None and asked.up_to is None):
            raise ModelError(
                f"{what} has an interval of {name!r} that no number is in, or all are.",
                where=where,
                remedy="`above` must be less than `up_to`, and one of them a number.",
            )
        return Interval(above, up_to)
    known = codes.get(name, {})
    places = sorted({known[label] for label in asked.values if label in known})
    if len(places) < len(asked.values):
        raise ModelError(
            f"{what} asks for categories of {name!r} that are not listed among its own, or names"
            " one twice.",
            where=where,
        )
    return Values(tuple(places))
