"""Decision trees as JSON: written without loss, and read back.

The document lists the nodes, each before its children; `children` are places in that list, in the
order of the attribute's categories. A leaf has no `split`. Where the counts are those that a model
of the joint distribution expects, `through` names it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Literal

from pydantic import Field

from pramana_core.domain import Domain, Variable
from pramana_core.errors import InputError
from pramana_core.learn.bayes_classifier.model import ChosenModel
from pramana_core.learn.common.documents import DocumentPart, read_json, variable_json
from pramana_core.learn.tree.model import DecisionTree
from pramana_core.learn.tree.node import Node, NodeClasses, Split
from pramana_core.learn.tree.options import DEEPEST, TreeOptions


def tree_json(tree: DecisionTree) -> dict[str, Any]:
    """Return a tree as what JSON is made of."""
    return {
        "kind": "decision-tree",
        "records": tree.records,
        # Not said of trees whose counts the reports tell, as it was before there were others.
        **({} if tree.through is None else {"through": tree.through}),
        "options": asdict(tree.options),
        "inputs": [variable_json(variable) for variable in tree.inputs],
        "target": variable_json(tree.target),
        "nodes": _nodes(tree.root),
    }


def read_tree_json(text: str) -> DecisionTree:
    """Read a tree from the JSON text of `tree_json`.

    Raises:
        InputError: the text is no such document, an option is out of its range, or the nodes make
            no tree.
        DomainError, NotStochastic, UnknownVariable: it is, but a variable or a node cannot be.
    """
    document = read_json(
        _Document, text, "a decision tree", "Give the JSON of a decision tree as it was written."
    )
    return DecisionTree(
        inputs=Domain(document.inputs),
        target=document.target,
        root=_root(document.nodes),
        records=document.records,
        options=document.options,
        through=document.through,
    )


class _Node(DocumentPart):
    classes: NodeClasses
    split: Split | None = None
    children: list[int] = Field(default_factory=list)


class _Document(DocumentPart):
    kind: Literal["decision-tree"]
    records: int
    through: ChosenModel | None = None
    options: TreeOptions
    inputs: tuple[Variable, ...]
    target: Variable
    nodes: list[_Node]


def _root(nodes: Sequence[_Node]) -> Node:
    """Put the nodes together, the last first: children come after their parent."""
    named = sorted(child for node in nodes for child in node.children)
    if not nodes or named != list(range(1, len(nodes))):
        raise InputError(
            "The nodes do not form a tree: each but the first must be the child of one other.",
            where="nodes",
        )
    depth = [0] * len(nodes)
    made: dict[int, Node] = {}
    for place in range(len(nodes) - 1, -1, -1):
        node = nodes[place]
        if node.children and min(node.children) <= place:
            raise InputError("A node is listed before its parent.", where=f"nodes.{place}")
        depth[place] = 1 + max((depth[child] for child in node.children), default=-1)
        if depth[place] > DEEPEST:
            raise InputError(f"A path of the tree asks more than {DEEPEST} questions.")
        children = tuple(made.pop(child) for child in node.children)
        made[place] = Node(node.classes, node.split, children)
    return made[0]


def _nodes(root: Node) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = []
    _list(root, listed)
    return listed


def _list(node: Node, listed: list[dict[str, Any]]) -> None:
    written: dict[str, Any] = {"classes": asdict(node.classes)}
    listed.append(written)
    if node.split is not None:
        written["split"] = asdict(node.split)
        written["children"] = []
    for child in node.children:
        written["children"].append(len(listed))
        _list(child, listed)
