"""Decision trees as values: what each node knows of the class, and how a record finds its leaf.

Also here:

* How many records go down a tree together: the tree as arrays, walked a level at a time.
* How records with missing values go down a tree: to all children, by how many records each has.
* Decision trees as JSON: written without loss, and read back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import AfterValidator, Field, PlainSerializer

from pramana_core.domain import Domain, Variable
from pramana_core.errors import DomainError, InputError
from pramana_core.learn.bayes_classifier.model import ChosenModel
from pramana_core.learn.common.documents import DocumentForm, DocumentPart
from pramana_core.learn.common.inputs import (
    record_columns,
    require_inputs,
)
from pramana_core.learn.common.options import DEEPEST, TreeOptions
from pramana_core.learn.tree.node import Node, NodeClasses, Split
from pramana_core.marginals.counts import Codes, Tensor
from pramana_core.ties import first_largest_of_rows

# How many records go down a tree together: the tree as arrays, walked a level at a time.

_CHUNK = 1 << 15
"""Records that go down together: what is known of them stays in the processor's cache."""

_Places = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Descent:
    """A tree over some inputs.

    `asked` is the row of the input that each node asks, `step[node, code]` the node it leads to (a
    leaf leads to itself) and `leaf` the place of each leaf among the leaves.
    """

    inputs: Domain
    depth: int
    asked: _Places
    step: _Places
    leaf: npt.NDArray[np.uint32]

    @classmethod
    def of(cls, inputs: Domain, root: Node) -> Descent:
        """Number the nodes, each before its children."""
        nodes = list(root)
        asked = np.zeros(len(nodes), dtype=np.int32)
        step = np.repeat(np.arange(len(nodes), dtype=np.int32)[:, None], max(inputs.shape), axis=1)
        for number, node in enumerate(nodes):
            if node.split is not None:
                asked[number] = inputs.axis(node.split.attribute)
                sizes = [0, *(sum(1 for _ in child) for child in node.children[:-1])]
                step[number, : len(node.children)] = number + 1 + np.cumsum(sizes)
        ends = np.cumsum([node.split is None for node in nodes]) - 1
        return cls(inputs, root.depth, asked, step, ends.astype(np.uint32))

    def leaf_of(self, codes: Mapping[str, Codes]) -> Codes:
        """Return the place of each record's leaf.

        Raises:
            UnknownVariable, DomainError: see `record_columns`.
        """
        columns = record_columns(self.inputs, codes)
        found = np.empty(len(columns[0]), dtype=np.uint32)
        for start in range(0, len(found), _CHUNK):
            part = np.concatenate([c[start : start + _CHUNK] for c in columns], dtype=np.int32)
            found[start : start + _CHUNK] = self.leaf[self._walk(part)]
        return found

    def _walk(self, codes: _Places) -> _Places:
        """Return the node at which each record ends, given its codes one input after another."""
        size = len(codes) // len(self.inputs)
        width = self.step.shape[1]
        offset, step = self.asked * np.int32(size), self.step.ravel()
        records = np.arange(size, dtype=np.int32)
        node = np.zeros(size, dtype=np.int32)
        for _ in range(self.depth):
            node = step[node * width + codes[offset[node] + records]]
        return node


# How records with missing values go down a tree: to all children, by how many records each has.
#
# So does C4.5 (Quinlan 1993, section 3.2); a child's share of a record is its share of the records
# that the tree was learned from.


def spread_probabilities(
    inputs: Domain, root: Node, columns: Sequence[Codes], classes: int
) -> Tensor:
    """Return the class probabilities of n records, (n, classes).

    Args:
        inputs: the tree's inputs.
        root: the tree.
        columns: codes by input; the number of categories stands for a missing value.
        classes: how many there are.
    """
    found = np.zeros((len(columns[0]), classes))
    everything = np.arange(len(found))
    waiting: list[tuple[Node, npt.NDArray[np.int64], Tensor]] = [
        (root, everything, np.ones(len(found)))
    ]
    while waiting:
        node, places, weights = waiting.pop()
        if not len(places):
            continue
        if node.split is None:
            found[places] += weights[:, None] * np.array(node.classes.probabilities)
            continue
        codes = columns[inputs.axis(node.split.attribute)][places]
        missing = codes == len(node.children)
        for code, (child, share) in enumerate(zip(node.children, shares_of(node), strict=True)):
            met = (codes == code) | (missing & (share > 0))
            part = np.where(missing, share, 1.0) * weights
            waiting.append((child, places[met], part[met]))
    return found


def shares_of(node: Node) -> Tensor:
    """Return the share of a node's records in each child, equal ones where none are known."""
    totals = np.maximum([child.classes.total for child in node.children], 0.0)
    whole = float(totals.sum())
    shares: Tensor = totals / whole if whole > 0 else np.full(len(totals), 1 / len(totals))
    return shares


@dataclass(frozen=True)
class DecisionTree:
    """A tree that tells a class from other variables; a `Predictor`.

    `records` is the number of records it was learned from, `through` the model of the joint
    distribution that its counts follow from; None where the reports tell the counts themselves.

    Raises:
        DomainError: no inputs, the class among them, or a node that does not fit the variables or
            asks what was asked above it.
        UnknownVariable: a split by a variable that is not an input.
    """

    inputs: Domain
    target: Variable
    root: Node
    records: int
    options: TreeOptions
    through: ChosenModel | None = None

    sums_out = True

    def __post_init__(self) -> None:
        require_inputs(self.inputs, self.target)
        self._require_fitting(self.root, frozenset())

    def _require_fitting(self, node: Node, asked: frozenset[str]) -> None:
        if len(node.classes.counts) != self.target.size:
            raise DomainError(
                f"A node has counts of {len(node.classes.counts)} classes; {self.target.name!r} has"
                f" {self.target.size}.",
                where=self.target.name,
            )
        if node.split is None:
            if node.children:
                raise DomainError("A node has children and no question.")
            return
        name = node.split.attribute
        if name in asked or len(node.children) != self.inputs[name].size:
            raise DomainError(
                f"{name!r} is asked twice on a path."
                if name in asked
                else f"A question on {name!r} has {len(node.children)} children; it needs"
                f" {self.inputs[name].size}.",
                where=name,
            )
        for child in node.children:
            self._require_fitting(child, asked | {name})

    @property
    def domain(self) -> Domain:
        """The inputs and then the class."""
        return self.inputs.join(Domain((self.target,)))

    @property
    def used(self) -> tuple[str, ...]:
        """The inputs that are asked for anywhere."""
        asked = {node.split.attribute for node in self.root if node.split is not None}
        return tuple(name for name in self.inputs.names if name in asked)

    @cached_property
    def leaves(self) -> tuple[Node, ...]:
        """The leaves, those of a node's first category first."""
        return tuple(node for node in self.root if node.split is None)

    @cached_property
    def _descent(self) -> Descent:
        return Descent.of(self.inputs, self.root)

    def apply(self, codes: Mapping[str, Codes]) -> Codes:
        """Return the place in `leaves` where each of n records ends. Raises as `predict`."""
        return self._descent.leaf_of(codes)

    def predict(self, codes: Mapping[str, Codes]) -> Codes:
        """Return the class code of each of n records; see `Predictor`.

        A record with missing values is of the class that is the most probable on average over the
        leaves it may end in.
        """
        kind = np.min_scalar_type(self.target.size - 1)
        missing = self._with_missing(codes)
        if missing is not None:
            return first_largest_of_rows(missing).astype(kind)
        decisions = np.array([leaf.classes.decision for leaf in self.leaves])
        return decisions.astype(kind)[self.apply(codes)]

    def probabilities(self, codes: Mapping[str, Codes]) -> Tensor:
        """Return the probability of each class, (n, classes); see `Predictor`."""
        missing = self._with_missing(codes)
        if missing is not None:
            return missing
        table: Tensor = np.array([leaf.classes.probabilities for leaf in self.leaves])
        return table[self.apply(codes)]

    def _with_missing(self, codes: Mapping[str, Codes]) -> Tensor | None:
        """Return the probabilities of records of which values are missing; None if none are."""
        columns = record_columns(self.inputs, codes, missing=True)
        sizes = zip(columns, self.inputs.shape, strict=True)
        if not any(len(column) and int(column.max()) == size for column, size in sizes):
            return None
        return spread_probabilities(self.inputs, self.root, columns, self.target.size)


# Decision trees as JSON: written without loss, and read back.
#
# `nodes` lists the nodes, each before its children; `children` are places in that list, in the
# order of the attribute's categories. A leaf has no `split`.


class _Node(DocumentPart):
    classes: NodeClasses
    split: Split | None = None
    children: list[int] = Field(default_factory=list)


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


DOCUMENT = DocumentForm(
    "decision-tree",
    DecisionTree,
    "a decision tree",
    root=Annotated[
        list[_Node], AfterValidator(_root), PlainSerializer(_nodes), Field(alias="nodes")
    ],
)
"""Decision trees as JSON."""
