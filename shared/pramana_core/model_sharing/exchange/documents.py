"""Shared trees and global models as JSON: plain data, written without loss and read back equal.

A tree is the list of its nodes, each before its children, with labels in place of codes. Whoever
sends such a document is not believed. The forms below hold its shape and its sizes;
`TreeDocument.to_tree` checks the rest: that labels are known, that counts agree with each other,
and that the nodes form one tree whose splits leave nothing out.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    ConfigDict,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    TypeAdapter,
    ValidationError,
)

from pramana_core.channels import CATEGORIES, VARIABLES
from pramana_core.domain import Variable
from pramana_core.errors import InputError, LimitExceeded, ModelError
from pramana_core.learn.common.documents import DocumentPart, faults, read_json, write_json
from pramana_core.mixed import LARGEST
from pramana_core.model_sharing.attributes import (
    Attribute,
    CategoricalAttribute,
    NumericAttribute,
    TreeSchema,
)
from pramana_core.model_sharing.combine_options import MOST_DEPTH
from pramana_core.model_sharing.conditions import Condition, Interval, Values
from pramana_core.model_sharing.global_models.conjunctive import RuleModel
from pramana_core.model_sharing.global_models.model import GlobalModel, TreeModel
from pramana_core.model_sharing.global_models.naive_bayes import Density, NaiveBayesModel
from pramana_core.model_sharing.global_models.votes import VotesModel
from pramana_core.model_sharing.tree import ROUNDING, Leaf, Node, SharedTree, Split

__all__ = ["CategoricalDocument", "TreeDocument", "read_tree_json", "write_tree_json"]

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
    """An attribute of categories."""

    name: Label
    type: Literal["categorical"]
    categories: Labels


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
        return TreeSchema(target, tuple(_attribute(attribute) for attribute in self.attributes))


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
    return {
        "name": attribute.name,
        "type": "categorical",
        "categories": attribute.categories,
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


def _attribute(document: NumericDocument | CategoricalDocument) -> Attribute:
    if isinstance(document, NumericDocument):
        return NumericAttribute(
            document.name, float(document.low), float(document.high), document.whole
        )
    return CategoricalAttribute(document.name, document.categories)


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


MOST_PATHS = 100_000
"""A released tree has no more leaves."""

MOST_VALUES = 2_000_000
"""The categories that all conditions of a released tree name, together."""

LONGEST_TEXT = 32 << 20
"""The most bytes of a tree as JSON text."""


Distribution = Annotated[tuple[Count, ...], Field(strict=False, max_length=CATEGORIES)] | None


MOST_NODES = 1_000_000


class LeafDocument(DocumentPart):
    """A leaf: its class, and how many records are of it and of other classes.

    `distribution`, where it is told, has the counts of all classes in the order of the target's
    categories.
    """

    model_config = ConfigDict(serialize_by_alias=True)

    label: Label = Field(alias="class")
    hit: Count
    miss: Count
    distribution: Distribution = None


class SplitDocument(DocumentPart):
    """A split: the condition of each part, and at which place of the list its node is."""

    parts: Annotated[
        tuple[ConditionDocument, ...], Field(strict=False, min_length=2, max_length=CATEGORIES)
    ]
    children: Annotated[tuple[int, ...], Field(strict=False, max_length=CATEGORIES)]


NodeDocument = LeafDocument | SplitDocument
Nodes = Annotated[
    tuple[NodeDocument, ...], Field(strict=False, min_length=1, max_length=MOST_NODES)
]


class TreeDocument(SchemaDocument):
    """A shared tree: the class, the attributes and the nodes."""

    nodes: Annotated[
        tuple[NodeDocument, ...], Field(strict=False, min_length=1, max_length=2 * MOST_PATHS)
    ]

    @property
    def leaves(self) -> list[LeafDocument]:
        """The leaves, one for each path."""
        return [node for node in self.nodes if isinstance(node, LeafDocument)]

    @classmethod
    def of(cls, tree: SharedTree) -> TreeDocument:
        """Return the document of a tree.

        Raises:
            ModelError: a name is too long, or the tree has too many paths, to be released.
        """
        try:
            return cls.model_validate({**schema_json(tree.schema), "nodes": tree_nodes(tree)})
        except ValueError:
            raise ModelError(
                "The tree is too large, or has names that are too long or not plain text, to be"
                " written as a message.",
                remedy=f"Names may have {LONGEST_LABEL} letters, a tree {MOST_PATHS:,} paths.",
            ) from None

    def to_tree(self, *, noised: bool = False) -> SharedTree:
        """Return the tree, once all that can be wrong with it was checked.

        Args:
            noised: whether the counts have noise, so that a leaf's class need not be that of most
                of its records.

        Raises:
            DomainError: an attribute cannot be, or a name is there twice.
            ModelError: a node names what the schema does not have, counts do not agree, or the
                nodes do not form one tree.
            LimitExceeded: the conditions name more than `MOST_VALUES`, or it is too deep.
        """
        _require_small(self)
        schema = self.tree_schema()
        tree = tree_of_nodes(schema, codes_of(schema), self.nodes, "nodes")
        for leaf in () if noised else tree.leaves:
            rarer = leaf.hit * (schema.classes - 1) < (1 - ROUNDING) * leaf.miss
            if leaf.distribution is None and rarer:
                raise ModelError(
                    "The class of a leaf is not that of most of its records.",
                    where="nodes",
                    remedy="Give the class that has the largest count.",
                )
        return tree


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


def _require_small(document: TreeDocument) -> None:
    parts = [
        part for node in document.nodes if isinstance(node, SplitDocument) for part in node.parts
    ]
    named = sum(len(part.values) for part in parts if isinstance(part, ValuesDocument))
    if named > MOST_VALUES:
        raise LimitExceeded(
            f"The splits name {named:,} categories; at most {MOST_VALUES:,} are taken.",
            where="nodes",
            remedy="Release a smaller tree.",
        )
    if sum(leaf.hit + leaf.miss for leaf in document.leaves) > MOST_COUNTED:
        raise ModelError(
            f"The leaves count more than {MOST_COUNTED:,.0f} records together.", where="nodes"
        )


def tree_nodes(tree: SharedTree) -> list[dict[str, Any]]:
    """Return the nodes of a tree as what JSON can say."""
    found: list[dict[str, Any]] = []
    waiting: list[tuple[Node, list[int] | None]] = [(tree.root, None)]
    while waiting:
        node, siblings = waiting.pop()
        if siblings is not None:
            siblings.append(len(found))
        if isinstance(node, Leaf):
            distribution = node.distribution
            found.append(
                {
                    "class": tree.schema.target.categories[node.label],
                    "hit": float(node.hit),
                    "miss": float(node.miss),
                    **(
                        {}
                        if distribution is None
                        else {"distribution": [float(c) for c in distribution]}
                    ),
                }
            )
            continue
        attribute = tree.schema[node.attribute]
        children: list[int] = []
        found.append(
            {
                "parts": [condition_json(attribute, part) for part, _ in node.parts],
                "children": children,
            }
        )
        waiting += [(below, children) for _, below in reversed(node.parts)]
    return found


def tree_of_nodes(
    schema: TreeSchema, codes: Codes, nodes: Sequence[NodeDocument], where: str
) -> SharedTree:
    """Return the tree of some nodes.

    Args:
        schema: the class and the attributes.
        codes: those of `codes_of`.
        nodes: each before its children.
        where: where they are in the document.

    Raises:
        ModelError: they form no tree, or a node names what the schema does not have.
        LimitExceeded: it is too deep.
    """
    named = sorted(
        child for node in nodes if isinstance(node, SplitDocument) for child in node.children
    )
    if named != list(range(1, len(nodes))):
        raise ModelError(
            "The nodes do not form a tree: each but the first must be the child of one other.",
            where=where,
        )
    made: dict[int, Node] = {}
    depths = [0] * len(nodes)
    for place in range(len(nodes) - 1, -1, -1):
        node, here = nodes[place], f"{where}/{place}"
        if isinstance(node, LeafDocument):
            made[place] = _leaf(schema, codes, node, here)
            continue
        if min(node.children, default=0) <= place or len(node.children) != len(node.parts):
            raise ModelError(
                f"Node {place} must have one child for each part, all listed after it.", where=here
            )
        depths[place] = 1 + max(depths[child] for child in node.children)
        if depths[place] > MOST_DEPTH:
            raise LimitExceeded(f"The tree is deeper than {MOST_DEPTH} splits.", where=where)
        asked = {part.attribute for part in node.parts}
        if len(asked) > 1:
            raise ModelError(f"Node {place} asks for more than one attribute.", where=here)
        conditions = [
            condition_of(schema, codes, part, f"Node {place}", here) for part in node.parts
        ]
        below = [made.pop(child) for child in node.children]
        made[place] = Split(asked.pop(), tuple(zip(conditions, below, strict=True)))
    return SharedTree(schema, made[0])


def _leaf(schema: TreeSchema, codes: Codes, leaf: LeafDocument, where: str) -> Leaf:
    label = codes[schema.target.name].get(leaf.label)
    if label is None:
        raise ModelError("A leaf has a class that is not listed.", where=where)
    counts = leaf.distribution
    known = None if counts is None else tuple(map(float, counts))
    try:
        return Leaf(label, float(leaf.hit), float(leaf.miss), known)
    except ModelError:
        raise ModelError(
            "The counts of a leaf do not agree: `hit` must be the count of its class in"
            " `distribution`, none larger, and `miss` the sum of the others.",
            where=where,
        ) from None


MOST_TREES = 1_000

_Counts = Annotated[tuple[Count, ...], Field(strict=False, max_length=CATEGORIES)]
_Numbers = Annotated[tuple[Number, ...], Field(strict=False, max_length=CATEGORIES)]
_Trees = Annotated[tuple[Nodes, ...], Field(strict=False, min_length=1, max_length=MOST_TREES)]


class _Model(SchemaDocument):
    def trees_of(self, listed: tuple[Nodes, ...]) -> tuple[SharedTree, ...]:
        """Return trees of the model's schema. Raises as `tree_of_nodes`."""
        schema = self.tree_schema()
        codes = codes_of(schema)
        return tuple(
            tree_of_nodes(schema, codes, nodes, f"trees/{place}")
            for place, nodes in enumerate(listed)
        )


class _Tree(_Model):
    kind: Literal["tree"]
    nodes: Nodes

    def to_model(self) -> GlobalModel:
        return TreeModel(self.trees_of((self.nodes,))[0])


class _Votes(_Model):
    kind: Literal["votes"]
    trees: _Trees

    def to_model(self) -> GlobalModel:
        return VotesModel(self.trees_of(self.trees))


class _Rule(_Model):
    kind: Literal["conjunctive"]
    conditions: Annotated[tuple[ConditionDocument, ...], Field(strict=False, max_length=VARIABLES)]
    covered: _Counts
    others: _Counts

    def to_model(self) -> GlobalModel:
        schema = self.tree_schema()
        codes = codes_of(schema)
        conditions = tuple(
            (asked.attribute, condition_of(schema, codes, asked, "The rule", "conditions"))
            for asked in self.conditions
        )
        return RuleModel(schema, conditions, self.covered, self.others)


class _NaiveBayes(_Model):
    kind: Literal["naive-bayes"]
    prior: _Numbers
    densities: Annotated[tuple[Density, ...], Field(strict=False, max_length=VARIABLES)]

    def to_model(self) -> GlobalModel:
        return NaiveBayesModel(self.tree_schema(), self.prior, self.densities)


_Document = Annotated[_Tree | _Votes | _Rule | _NaiveBayes, Field(discriminator="kind")]


def model_json(model: GlobalModel) -> dict[str, Any]:
    """Return a global model as what JSON can say. Raises ModelError if its kind is not known."""
    head = {"kind": model.kind, **schema_json(model.schema)}
    if isinstance(model, TreeModel):
        return {**head, "nodes": tree_nodes(model.tree)}
    if isinstance(model, VotesModel):
        return {**head, "trees": [tree_nodes(tree) for tree in model.trees]}
    if isinstance(model, RuleModel):
        asked = [condition_json(model.schema[name], c) for name, c in model.conditions]
        return {**head, "conditions": asked, "covered": model.covered, "others": model.others}
    if isinstance(model, NaiveBayesModel):
        return {**head, "prior": model.prior, "densities": list(map(asdict, model.densities))}
    raise ModelError(f"There is no JSON of models of kind {model.kind!r}.", where="kind")


def write_model_json(model: GlobalModel) -> str:
    """Return a global model as JSON text; every number is written so that none is lost."""
    # Without line breaks: a forest has a hundred thousand nodes.
    return json.dumps(model_json(model), ensure_ascii=False, allow_nan=False) + "\n"


def read_model_json(text: str) -> GlobalModel:
    """Read a global model from the text of `write_model_json`; it is the same.

    Raises:
        InputError: the text is no such document.
        LimitExceeded: it is too long, or a tree too deep.
        DomainError, ModelError, OptionError: it is one, but the parts do not belong together.
    """
    require_length(text)
    try:
        return _READER.validate_json(text).to_model()
    except ValidationError as error:
        raise InputError(
            f"The text is not a global model in JSON: {faults(error)}.",
            remedy="Give the JSON of a model as `write_model_json` or the miner gives it.",
        ) from None


_READER: TypeAdapter[_Tree | _Votes | _Rule | _NaiveBayes] = TypeAdapter(_Document)
