"""A tree as the list of its nodes, each before its children: the short form, for global models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from pramana_core.channels import CATEGORIES
from pramana_core.errors import LimitExceeded, ModelError
from pramana_core.learn.common.documents import DocumentPart
from pramana_core.model_sharing.core.attributes import TreeSchema
from pramana_core.model_sharing.core.tree import MOST_DEPTH, Leaf, Node, SharedTree, Split
from pramana_core.model_sharing.exchange.schemas import (
    Codes,
    ConditionDocument,
    Count,
    Label,
    condition_json,
    condition_of,
)

MOST_NODES = 1_000_000


class LeafDocument(DocumentPart):
    """A leaf; see `PathDocument`."""

    model_config = ConfigDict(serialize_by_alias=True)

    label: Label = Field(alias="class")
    hit: Count
    miss: Count
    distribution: (
        Annotated[tuple[Count, ...], Field(strict=False, max_length=CATEGORIES)] | None
    ) = None


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


def _leaf(schema: TreeSchema, codes: Codes, told: LeafDocument, where: str) -> Leaf:
    label = codes[schema.target.name].get(told.label)
    if label is None:
        raise ModelError("A leaf has a class that is not listed.", where=where)
    counts = told.distribution
    known = None if counts is None else tuple(map(float, counts))
    return Leaf(label, float(told.hit), float(told.miss), known)
