"""The JSON of a shared tree: its paths, as section 2.1 has them, with labels in place of codes.

Whoever sends such a document is not believed. The forms below hold its shape and its sizes;
`TreeDocument.to_tree` checks the rest: that labels are known, that counts agree with each other,
and that the paths are those of one tree.

Also here:

* A tree as the list of its nodes, each before its children: the short form, for global models.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from pramana_core.channels import CATEGORIES, VARIABLES
from pramana_core.errors import InputError, LimitExceeded, ModelError
from pramana_core.learn.common.documents import DocumentPart, read_json, write_json
from pramana_core.model_sharing.attributes import TreeSchema
from pramana_core.model_sharing.exchange.schemas import (
    LONGEST_LABEL,
    MOST_COUNTED,
    CategoricalDocument,
    Codes,
    ConditionDocument,
    Count,
    Label,
    SchemaDocument,
    ValuesDocument,
    codes_of,
    condition_json,
    condition_of,
    schema_json,
)
from pramana_core.model_sharing.paths import MOST_PATHS, tree_of
from pramana_core.model_sharing.tree import (
    MOST_DEPTH,
    ROUNDING,
    Condition,
    Leaf,
    Node,
    Path,
    SharedTree,
    Split,
    whole,
)

__all__ = ["CategoricalDocument", "TreeDocument", "read_tree_json", "write_tree_json"]

MOST_CONDITIONS = 500_000
MOST_VALUES = 2_000_000
"""The categories that all conditions of a tree name, together."""

LONGEST_TEXT = 32 << 20
"""The most bytes of a tree as JSON text."""


Distribution = Annotated[tuple[Count, ...], Field(strict=False, max_length=CATEGORIES)] | None


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
    distribution: Distribution = None


class TreeDocument(SchemaDocument):
    """A shared tree as its paths."""

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
        told = {**schema_json(schema), "paths": [_path_json(schema, path) for path in tree.paths()]}
        try:
            return cls.model_validate(told)
        except ValueError:
            raise ModelError(
                "The tree is too large, or has names that are too long or not plain text, to be"
                " written as a message.",
                remedy=f"Names may have {LONGEST_LABEL} letters, a tree {MOST_PATHS:,} paths.",
            ) from None

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
        codes = codes_of(schema)
        paths = [
            Path(
                _conditions(schema, codes, path, number), _leaf(schema, codes, path, number, noised)
            )
            for number, path in enumerate(self.paths, 1)
        ]
        return tree_of(schema, paths)


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


def _conditions(
    schema: TreeSchema, codes: Codes, path: PathDocument, number: int
) -> dict[str, Condition]:
    found: dict[str, Condition] = {}
    for asked in path.conditions:
        if asked.attribute in found:
            raise ModelError(
                f"Path {number} has two conditions on {asked.attribute!r}.", where=f"paths/{number}"
            )
        found[asked.attribute] = condition_of(
            schema, codes, asked, f"Path {number}", f"paths/{number}"
        )
    return found


def _leaf(schema: TreeSchema, codes: Codes, path: PathDocument, number: int, noised: bool) -> Leaf:
    where = f"paths/{number}"
    label = codes[schema.target.name].get(path.label)
    if label is None:
        raise ModelError(f"Path {number} has a class that is not listed.", where=where)
    hit, miss, counts = float(path.hit), float(path.miss), path.distribution
    if counts is not None and len(counts) != schema.classes:
        raise ModelError(
            f"Path {number} counts {len(counts)} classes; there are {schema.classes}.", where=where
        )
    rarer = counts is None and hit * (schema.classes - 1) < (1 - ROUNDING) * miss
    if rarer and not noised:
        raise ModelError(
            f"The class of path {number} is not that of most of its records.",
            where=where,
            remedy="Give the class that has the largest count.",
        )
    try:
        return Leaf(label, hit, miss, None if counts is None else tuple(map(float, counts)))
    except ModelError:
        raise ModelError(
            f"The counts of path {number} do not agree: `hit` must be the count of its class in"
            " `distribution`, none larger, and `miss` the sum of the others.",
            where=where,
        ) from None


# A tree as the list of its nodes, each before its children: the short form, for global models.

MOST_NODES = 1_000_000


class LeafDocument(DocumentPart):
    """A leaf; see `PathDocument`."""

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


def tree_nodes(tree: SharedTree) -> list[dict[str, Any]]:
    """Return the nodes of a tree as what JSON can say."""
    found: list[dict[str, Any]] = []
    waiting: list[tuple[Node, list[int] | None]] = [(tree.root, None)]
    while waiting:
        node, siblings = waiting.pop()
        if siblings is not None:
            siblings.append(len(found))
        if isinstance(node, Leaf):
            told = node.distribution
            found.append(
                {
                    "class": tree.schema.target.categories[node.label],
                    "hit": float(node.hit),
                    "miss": float(node.miss),
                    **({} if told is None else {"distribution": [float(c) for c in told]}),
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
            made[place] = _released_leaf(schema, codes, node, here)
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


def _released_leaf(schema: TreeSchema, codes: Codes, told: LeafDocument, where: str) -> Leaf:
    label = codes[schema.target.name].get(told.label)
    if label is None:
        raise ModelError("A leaf has a class that is not listed.", where=where)
    counts = told.distribution
    known = None if counts is None else tuple(map(float, counts))
    return Leaf(label, float(told.hit), float(told.miss), known)
