"""Shared trees and global models as JSON, written without loss and read back equal.

The document of a tree is a list of nodes, each before its children. The sender is not trusted.
Therefore documents check shapes and sizes, and the reader checks that the nodes form one tree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Discriminator, Field, Tag, TypeAdapter, ValidationError

from pramana_core.domain import CATEGORIES, VARIABLES, Variable
from pramana_core.errors import InputError, LimitExceeded, ModelError
from pramana_core.learn.common.documents import DocumentPart, faults
from pramana_core.model_sharing.attributes import Attribute, Label, Labels, Number, TreeSchema
from pramana_core.model_sharing.combine_options import MOST_DEPTH
from pramana_core.model_sharing.conditions import Condition, Interval, Values
from pramana_core.model_sharing.global_models.conjunctive import RuleModel
from pramana_core.model_sharing.global_models.model import GlobalModel
from pramana_core.model_sharing.global_models.naive_bayes import Density, NaiveBayesModel
from pramana_core.model_sharing.global_models.votes import VotesModel
from pramana_core.model_sharing.tree import ROUNDING, Leaf, Node, SharedTree, Split

MOST_COUNTED = float(1 << 33)
"""The maximum number of records of a path, and of a tree."""

MOST_PATHS = 100_000
"""The maximum number of leaves of a released tree."""

MOST_VALUES = 2_000_000
"""The maximum number of categories in all conditions of a released tree."""

LONGEST_TEXT = 32 << 20
"""The maximum length of the JSON text of a tree, in bytes."""

MOST_NODES, MOST_TREES = 1_000_000, 1_000
"""The maximum number of nodes of a tree in a global model, and the maximum number of trees."""

Count = Annotated[float, Field(ge=0, le=MOST_COUNTED)]
Counts = Annotated[tuple[Count, ...], Field(strict=False, max_length=CATEGORIES)]


class TargetDocument(DocumentPart):
    """The class variable with its categories in code order."""

    name: Label
    categories: Labels


class ValuesDocument(DocumentPart):
    """The condition that the attribute has one of these categories."""

    attribute: Label
    values: Labels


class IntervalDocument(DocumentPart):
    """The condition that a number is above a limit and at most another; null is no limit."""

    attribute: Label
    above: Number | None
    up_to: Number | None


def _kind_of_condition(given: Any) -> str:
    fields = given if isinstance(given, dict) else getattr(given, "__dict__", {})
    return "values" if "values" in fields else "interval"


ConditionDocument = Annotated[
    Annotated[ValuesDocument, Tag("values")] | Annotated[IntervalDocument, Tag("interval")],
    Discriminator(_kind_of_condition),
]


class LeafDocument(DocumentPart):
    """A leaf with its class, its hits and misses, and optionally the counts of all classes."""

    model_config = ConfigDict(serialize_by_alias=True)

    label: Label = Field(alias="class")
    hit: Count
    miss: Count
    distribution: Counts | None = None


class SplitDocument(DocumentPart):
    """A split, with the condition of each part and the index of the part's node in the list."""

    parts: Annotated[
        tuple[ConditionDocument, ...], Field(strict=False, min_length=2, max_length=CATEGORIES)
    ]
    children: Annotated[tuple[int, ...], Field(strict=False, max_length=CATEGORIES)]


Nodes = Annotated[
    tuple[LeafDocument | SplitDocument, ...],
    Field(strict=False, min_length=1, max_length=MOST_NODES),
]


class SchemaDocument(DocumentPart):
    """The class variable, and the attributes that predict it."""

    target: TargetDocument
    attributes: Annotated[
        tuple[Annotated[Attribute, Field(discriminator="type")], ...],
        Field(strict=False, min_length=1, max_length=VARIABLES),
    ]

    def tree_schema(self) -> TreeSchema:
        """Return the schema of the class and the attributes. Raises DomainError."""
        return TreeSchema(Variable(self.target.name, self.target.categories), self.attributes)


class TreeDocument(SchemaDocument):
    """A shared tree, with the class variable, the attributes and the nodes."""

    nodes: Annotated[Nodes, Field(max_length=2 * MOST_PATHS)]

    @property
    def leaves(self) -> list[LeafDocument]:
        """The leaves; there is one for each path."""
        return [node for node in self.nodes if isinstance(node, LeafDocument)]

    @classmethod
    def of(cls, tree: SharedTree) -> TreeDocument:
        """Return the document of a tree. Raises ModelError: the tree is too large to send."""
        try:
            return cls.model_validate({**schema_json(tree.schema), "nodes": tree_nodes(tree)})
        except ValueError:
            raise ModelError(
                "The tree is too large to send.",
                remedy=f"Release a tree of at most {MOST_PATHS:,} paths.",
            ) from None

    def to_tree(self, *, noised: bool = False) -> SharedTree:
        """Return the tree after all checks.

        With `noised` counts, the class of a leaf need not be the most frequent. Raises DomainError,
        ModelError: an attribute, node or count is wrong, or a name is repeated. LimitExceeded: the
        tree is too deep, or its conditions have more than `MOST_VALUES` categories.
        """
        self._require_small()
        schema = self.tree_schema()
        tree = _Reader(schema).tree(self.nodes, "nodes")
        for leaf in () if noised else tree.leaves:
            rarer = leaf.hit * (schema.classes - 1) < (1 - ROUNDING) * leaf.miss
            if leaf.distribution is None and rarer:
                raise ModelError(
                    "The class of a leaf is not its most frequent one.",
                    where="nodes",
                    remedy="Give the class with the largest count.",
                )
        return tree

    def _require_small(self) -> None:
        parts = [p for node in self.nodes if isinstance(node, SplitDocument) for p in node.parts]
        named = sum(len(part.values) for part in parts if isinstance(part, ValuesDocument))
        if named > MOST_VALUES:
            raise LimitExceeded(
                f"The splits name {named:,} categories; the limit is {MOST_VALUES:,}.",
                where="nodes",
                remedy="Release a smaller tree.",
            )
        if sum(leaf.hit + leaf.miss for leaf in self.leaves) > MOST_COUNTED:
            raise ModelError(
                f"The leaves together have more than {MOST_COUNTED:,.0f} records.", where="nodes"
            )


def schema_json(schema: TreeSchema) -> dict[str, Any]:
    """Return a schema as JSON data in the form of `SchemaDocument`."""
    return {
        "target": {"name": schema.target.name, "categories": schema.target.categories},
        "attributes": [asdict(attribute) for attribute in schema.attributes],
    }


def condition_json(schema: TreeSchema, name: str, condition: Condition) -> dict[str, Any]:
    """Return a condition on an attribute as JSON data in the form of `ConditionDocument`."""
    if isinstance(condition, Interval):
        ends = {"above": condition.above, "up_to": condition.up_to}
        return {"attribute": name} | {
            end: float(number) if math.isfinite(number) else None for end, number in ends.items()
        }
    labels = schema.labels[name]
    return {"attribute": name, "values": [labels[code] for code in condition.codes]}


def tree_nodes(tree: SharedTree) -> list[dict[str, Any]]:
    """Return the nodes of a tree as JSON data, in the order of `Nodes`."""
    found: list[dict[str, Any]] = []

    def listed(node: Node) -> int:
        at = len(found)
        if isinstance(node, Leaf):
            label = tree.schema.target.categories[node.label]
            found.append({"class": label, "hit": node.hit, "miss": node.miss})
            if node.distribution is not None:
                found[at]["distribution"] = node.distribution
            return at
        parts = [condition_json(tree.schema, node.attribute, part) for part, _ in node.parts]
        found.append({"parts": parts})
        found[at]["children"] = [listed(below) for _, below in node.parts]
        return at

    listed(tree.root)
    return found


class _Reader:
    def __init__(self, schema: TreeSchema) -> None:
        self.schema = schema
        self._codes = {
            name: {label: code for code, label in enumerate(labels)}
            for name, labels in schema.labels.items()
        }

    def condition(self, given: ValuesDocument | IntervalDocument, where: str) -> Condition:
        name = given.attribute
        if name not in self.schema:
            raise ModelError(f"The schema has no attribute {name!r}.", where=where)
        if isinstance(given, IntervalDocument):
            above = -math.inf if given.above is None else float(given.above)
            up_to = math.inf if given.up_to is None else float(given.up_to)
            if not above < up_to or (given.above is None and given.up_to is None):
                raise ModelError(
                    f"An interval of {name!r} contains no number, or all numbers.",
                    where=where,
                    remedy="`above` must be less than `up_to`, and one of them a number.",
                )
            return Interval(above, up_to)
        known = self._codes.get(name, {})
        codes = sorted({known[label] for label in given.values if label in known})
        if len(codes) < len(given.values):
            raise ModelError(
                f"A condition names an unknown or repeated category of {name!r}.", where=where
            )
        return Values(tuple(codes))

    def leaf(self, given: LeafDocument, where: str) -> Leaf:
        label = self._codes[self.schema.target.name].get(given.label)
        if label is None:
            raise ModelError("The class of a leaf is not in the schema.", where=where)
        counts = None if given.distribution is None else tuple(map(float, given.distribution))
        try:
            return Leaf(label, float(given.hit), float(given.miss), counts)
        except ModelError as error:
            raise ModelError(error.message, where=where, remedy=error.remedy) from None

    def tree(self, nodes: Sequence[LeafDocument | SplitDocument], where: str) -> SharedTree:
        splits = [node for node in nodes if isinstance(node, SplitDocument)]
        if sorted(c for node in splits for c in node.children) != list(range(1, len(nodes))):
            raise ModelError(
                "The nodes do not form a tree: each except the first must be a child of one node.",
                where=where,
            )
        made: dict[int, Node] = {}
        depths = [0] * len(nodes)
        for index in range(len(nodes) - 1, -1, -1):
            node, here = nodes[index], f"{where}/{index}"
            if isinstance(node, LeafDocument):
                made[index] = self.leaf(node, here)
                continue
            if min(node.children, default=0) <= index or len(node.children) != len(node.parts):
                raise ModelError(
                    "A split must have one child for each part, all listed after the split.",
                    where=here,
                )
            depths[index] = 1 + max(depths[child] for child in node.children)
            if depths[index] > MOST_DEPTH:
                raise LimitExceeded(f"The tree is deeper than {MOST_DEPTH} splits.", where=where)
            name, *others = {part.attribute for part in node.parts}
            if others:
                raise ModelError("A split uses more than one attribute.", where=here)
            conditions = [self.condition(part, here) for part in node.parts]
            below = [made.pop(child) for child in node.children]
            made[index] = Split(name, tuple(zip(conditions, below, strict=True)))
        return SharedTree(self.schema, made[0])


class _Tree(SchemaDocument):
    kind: Literal["tree"]
    nodes: Nodes

    def to_model(self) -> GlobalModel:
        return _Reader(self.tree_schema()).tree(self.nodes, "nodes")


class _Votes(SchemaDocument):
    kind: Literal["votes"]
    trees: Annotated[tuple[Nodes, ...], Field(strict=False, min_length=1, max_length=MOST_TREES)]

    def to_model(self) -> GlobalModel:
        read = _Reader(self.tree_schema()).tree
        return VotesModel(tuple(read(one, f"trees/{k}") for k, one in enumerate(self.trees)))


class _Rule(SchemaDocument):
    kind: Literal["conjunctive"]
    conditions: Annotated[tuple[ConditionDocument, ...], Field(strict=False, max_length=VARIABLES)]
    covered: Counts
    others: Counts

    def to_model(self) -> GlobalModel:
        reader = _Reader(self.tree_schema())
        conditions = tuple(
            (one.attribute, reader.condition(one, "conditions")) for one in self.conditions
        )
        return RuleModel(reader.schema, conditions, self.covered, self.others)


class _NaiveBayes(SchemaDocument):
    kind: Literal["naive-bayes"]
    prior: Annotated[tuple[Number, ...], Field(strict=False, max_length=CATEGORIES)]
    densities: Annotated[tuple[Density, ...], Field(strict=False, max_length=VARIABLES)]

    def to_model(self) -> GlobalModel:
        return NaiveBayesModel(self.tree_schema(), self.prior, self.densities)


_Model = _Tree | _Votes | _Rule | _NaiveBayes
_MODELS: TypeAdapter[_Model] = TypeAdapter(Annotated[_Model, Field(discriminator="kind")])


def model_json(model: GlobalModel) -> dict[str, Any]:
    """Return the document of a global model. Raises ModelError: its kind is unknown."""
    schema = model.schema
    own: Mapping[str, Any]
    if isinstance(model, SharedTree):
        own = {"nodes": tree_nodes(model)}
    elif isinstance(model, VotesModel):
        own = {"trees": [tree_nodes(tree) for tree in model.trees]}
    elif isinstance(model, RuleModel):
        conditions = [condition_json(schema, name, c) for name, c in model.conditions]
        own = {"conditions": conditions, "covered": model.covered, "others": model.others}
    elif isinstance(model, NaiveBayesModel):
        own = {"prior": model.prior, "densities": list(map(asdict, model.densities))}
    else:
        raise ModelError(f"Models of kind {model.kind!r} cannot be written as JSON.", where="kind")
    return {"kind": model.kind, **schema_json(schema), **own}


def read_model_json(text: str) -> GlobalModel:
    """Read a global model from the JSON text of `model_json`; the result equals the written model.

    Raises InputError: the text is not such a document. LimitExceeded: the text is too long, or a
    tree is too deep. DomainError, ModelError, OptionError: its parts contradict each other.
    """
    if len(text) > LONGEST_TEXT:
        raise LimitExceeded(
            f"The text has {len(text):,} bytes; the limit is {LONGEST_TEXT:,}.",
            remedy="Combine smaller trees.",
        )
    try:
        return _MODELS.validate_json(text).to_model()
    except ValidationError as error:
        raise InputError(
            f"The text is not a global model in JSON: {faults(error)}.",
            remedy="Give the JSON text of a model from the miner.",
        ) from None
