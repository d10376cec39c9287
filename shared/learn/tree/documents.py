"""Decision trees as JSON: written without loss, and read back.

The document lists the nodes, each before its children; `children` are places in that list, in the
order of the attribute's categories. A leaf has no `split`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Literal

from pydantic import Field, ValidationError

from shared.domain import Domain
from shared.errors import InputError
from shared.learn.common.documents import Part, VariablePart, faults, variable_json
from shared.learn.tree.model import DecisionTree
from shared.learn.tree.node import ClassCounts, Node, Split
from shared.learn.tree.options import DEEPEST, Criterion, TreeOptions


def write_tree_json(tree: DecisionTree) -> str:
    """Return a tree as JSON text; every number is written so that nothing of it is lost."""
    document = tree_json(tree)
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def tree_json(tree: DecisionTree) -> dict[str, Any]:
    """Return a tree as what JSON is made of."""
    return {
        "kind": "decision-tree",
        "records": tree.records,
        "options": asdict(tree.options),
        "inputs": [variable_json(variable) for variable in tree.inputs],
        "target": variable_json(tree.target),
        "nodes": _nodes(tree.root),
    }


def read_tree_json(text: str) -> DecisionTree:
    """Read a tree from the JSON text of `write_tree_json`.

    Raises:
        InputError: the text is not such a document, or its nodes do not form a tree.
        DomainError, NotStochastic, OptionError, UnknownVariable: it is, but a variable, a node or
            an option cannot be.
    """
    try:
        document = _Document.model_validate_json(text)
    except ValidationError as error:
        raise InputError(
            f"The text is not a decision tree in JSON: {faults(error)}.",
            remedy="Give the JSON of a decision tree as it was written.",
        ) from error
    return DecisionTree(
        inputs=Domain(tuple(variable.variable() for variable in document.inputs)),
        target=document.target.variable(),
        root=_root(document.nodes),
        records=document.records,
        options=TreeOptions(**document.options.model_dump()),
    )


class _Options(Part):
    criterion: Criterion
    max_depth: int | None
    significance: float | None
    least_records: float
    prune: bool
    shrinkage: float | None


class _Classes(Part):
    counts: list[float]
    se_records: list[float]
    se_population: list[float]
    effective: float
    probabilities: list[float]

    def made(self) -> ClassCounts:
        return ClassCounts(
            tuple(self.counts),
            tuple(self.se_records),
            tuple(self.se_population),
            self.effective,
            tuple(self.probabilities),
        )


class _Split(Part):
    attribute: str
    gain: float
    se: float
    chance: float
    degrees: int
    tried: int
    p_value: float


class _Node(Part):
    classes: _Classes
    split: _Split | None = None
    children: list[int] = Field(default_factory=list)


class _Document(Part):
    kind: Literal["decision-tree"]
    records: int
    options: _Options
    inputs: list[VariablePart]
    target: VariablePart
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
        split = None if node.split is None else Split(**node.split.model_dump())
        made[place] = Node(node.classes.made(), split, children)
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
