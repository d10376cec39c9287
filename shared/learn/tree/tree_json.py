"""Decision trees as JSON: written without loss, and read back.

The document lists the nodes, each before its children; `children` are places in that list, in the
order of the attribute's categories. A leaf has no `split`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from shared.domain import Domain, Variable
from shared.errors import InputError
from shared.learn.tree.model import DEEPEST, ClassCounts, DecisionTree, Node, Split
from shared.learn.tree.options import Criterion, Growth

_FAULTS_SHOWN = 3


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
        "inputs": [_variable(variable) for variable in tree.inputs],
        "target": _variable(tree.target),
        "nodes": _nodes(tree.root),
    }


def read_tree_json(text: str) -> DecisionTree:
    """Read a tree from the JSON text of `write_tree_json`.

    Raises:
        InputError: the text is no such document, or its nodes make no tree.
        DomainError, NotStochastic, OptionError, UnknownVariable: it is, but a variable, a node or
            an option cannot be.
    """
    try:
        document = _Document.model_validate_json(text)
    except ValidationError as error:
        raise InputError(
            f"The text is not a decision tree in JSON: {_faults(error)}.",
            remedy="Give the JSON of a decision tree as it was written.",
        ) from error
    return DecisionTree(
        inputs=Domain(tuple(variable.made() for variable in document.inputs)),
        target=document.target.made(),
        root=_root(document.nodes),
        records=document.records,
        options=Growth(**document.options.model_dump()),
    )


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, strict=True)


class _Variable(_Part):
    name: str
    categories: list[str]
    representatives: list[float] | None = None

    def made(self) -> Variable:
        numbers = None if self.representatives is None else tuple(self.representatives)
        return Variable(self.name, tuple(self.categories), numbers)


class _Options(_Part):
    criterion: Criterion
    max_depth: int | None
    significance: float | None
    least_records: float
    prune: bool
    shrinkage: float | None


class _Classes(_Part):
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


class _Split(_Part):
    attribute: str
    gain: float
    se: float
    chance: float
    degrees: int
    tried: int
    p_value: float


class _Node(_Part):
    classes: _Classes
    split: _Split | None = None
    children: list[int] = []


class _Document(_Part):
    kind: Literal["decision-tree"]
    records: int
    options: _Options
    inputs: list[_Variable]
    target: _Variable
    nodes: list[_Node]


def _root(nodes: Sequence[_Node]) -> Node:
    """Put the nodes together, the last first: children come after their parent."""
    named = sorted(child for node in nodes for child in node.children)
    if not nodes or named != list(range(1, len(nodes))):
        raise InputError(
            "The nodes make no tree: each but the first must be the child of one other.",
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


def _variable(variable: Variable) -> dict[str, Any]:
    numbers = variable.representatives
    return {
        "name": variable.name,
        "categories": list(variable.categories),
        **({} if numbers is None else {"representatives": list(numbers)}),
    }


def _faults(error: ValidationError) -> str:
    """Name the places that are wrong and why, never what is in them."""
    faults: list[Mapping[str, Any]] = list(error.errors(include_input=False, include_url=False))
    said = [f"{'.'.join(map(str, f['loc'])) or 'the document'}: {f['msg']}" for f in faults]
    more = len(said) - _FAULTS_SHOWN
    return "; ".join(said[:_FAULTS_SHOWN]) + (f"; and {more} more" if more > 0 else "")
