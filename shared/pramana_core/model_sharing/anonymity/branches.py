"""The nodes of a tree while it is pruned: each knows what it would be, were the tree cut there.

All counts are added up once, from the leaves to the root, so that merging siblings reads only
the siblings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from pramana_core.errors import ModelError
from pramana_core.mixed.table import Floats
from pramana_core.model_sharing.anonymity.requirements import SLACK
from pramana_core.model_sharing.core.conditions import Condition, Interval, Values
from pramana_core.model_sharing.core.tree import Leaf, Node, SharedTree, Split


@dataclass(slots=True, eq=False)
class Branch:
    """A node while a tree is pruned.

    Attributes:
        condition: how its parent's split leads here; None for the root.
        cut: the leaf it is, or would be if the tree ended here.
        counts: how many records of each class it has, as well as that is known.
        hits: how many records the leaves below it tell rightly, as the tree is now.
        attribute: what it asks for; None for a leaf, as the tree is now.
        asked: what it asked for in the unpruned tree; None for a leaf of that.
        below: its parts.
        merged: the parts, as they were in the tree, that it was merged from; none if it is one.
        leaves: how many leaves of the unpruned tree are below it.
        grown_hits: how many records those tell rightly.
        paths: how many leaves are below it, as the tree is now.
    """

    condition: Condition | None
    cut: Leaf
    counts: Floats
    hits: float
    leaves: int
    grown_hits: float
    attribute: str | None = None
    asked: str | None = None
    below: list[Branch] = field(default_factory=list)
    merged: tuple[Condition, ...] = ()
    paths: int = 1

    @property
    def is_leaf(self) -> bool:
        """Whether it is a leaf, as the tree is now."""
        return self.attribute is None


Join = Callable[[Sequence[Branch]], Branch]
"""Makes one leaf of siblings."""


def join_exactly(branches: Sequence[Branch]) -> Branch:
    """Return the leaf that has the records of siblings, by the counts of all their classes."""
    counts = np.sum([b.counts for b in branches], axis=0)
    return _joined(branches, Leaf.of(counts), counts)


def join_by_hits(branches: Sequence[Branch]) -> Branch:
    """Return the leaf of siblings by their hits and misses alone: equation (1).

    The misses of each are taken to be spread evenly over the classes other than its own.
    """
    counts = np.sum([b.counts for b in branches], axis=0)
    spread = np.sum([_spread(b.cut, len(counts)) for b in branches], axis=0)
    # Thirds are rounded: of classes that rounding alone parts, the first, as of any tie.
    label = int(np.argmax(spread >= spread.max() * (1 - SLACK)))
    records = sum(b.cut.records for b in branches)
    hit = min(float(spread[label]), records)
    return _joined(branches, Leaf(label, hit, records - hit), counts)


JOINS: dict[str, Join] = {"exact": join_exactly, "propagated": join_by_hits}


def _spread(leaf: Leaf, classes: int) -> Floats:
    return Leaf(leaf.label, leaf.hit, leaf.miss).classes(classes)


def _joined(branches: Sequence[Branch], cut: Leaf, counts: Floats) -> Branch:
    conditions = [b.condition for b in branches if b.condition is not None]
    return Branch(
        condition=together(conditions) if conditions else None,
        cut=cut,
        counts=counts,
        hits=float(counts[cut.label]),
        leaves=sum(b.leaves for b in branches),
        grown_hits=sum(b.grown_hits for b in branches),
        merged=tuple(one for b in branches for one in _parts_of(b)),
    )


def _parts_of(branch: Branch) -> tuple[Condition, ...]:
    if branch.merged and branch.asked is None:
        return branch.merged
    return () if branch.condition is None else (branch.condition,)


def together(conditions: Sequence[Condition]) -> Condition:
    """Return the condition that one of some holds: of categories, or of intervals side by side."""
    codes = [c.codes for c in conditions if isinstance(c, Values)]
    if codes:
        return Values(tuple(sorted({code for some in codes for code in some})))
    ends = [c for c in conditions if isinstance(c, Interval)]
    return Interval(min(e.above for e in ends), max(e.up_to for e in ends))


def branches_of(tree: SharedTree, join: Join) -> list[Branch]:
    """Return the nodes of a tree, each before those below it, level by level (lines 2 to 4).

    Raises:
        ModelError: all counts are asked for, and a leaf tells hits and misses only.
    """
    classes = tree.schema.classes
    order: list[tuple[Branch, Node]] = []
    level: list[tuple[Condition | None, Node, Branch | None]] = [(None, tree.root, None)]
    while level:
        following: list[tuple[Condition | None, Node, Branch | None]] = []
        for condition, node, above in level:
            branch = _branch(condition, node, classes)
            if above is not None:
                above.below.append(branch)
            order.append((branch, node))
            if isinstance(node, Split):
                following += [(c, below, branch) for c, below in node.parts]
            elif join is join_exactly and node.distribution is None and classes > 2:
                raise ModelError(
                    "The leaves of this tree tell hits and misses only: the counts of all classes"
                    " cannot be added up.",
                    where="counts",
                    remedy="Prune with counts='propagated', or prune the tree that was grown.",
                )
        level = following
    for branch, _ in reversed(order):
        if branch.below:
            joined = join(branch.below)
            branch.cut, branch.counts = joined.cut, joined.counts
            branch.leaves, branch.grown_hits = joined.leaves, joined.grown_hits
            branch.hits = sum(b.hits for b in branch.below)
    return [branch for branch, _ in order]


def _branch(condition: Condition | None, node: Node, classes: int) -> Branch:
    if isinstance(node, Split):
        name = node.attribute
        return Branch(condition, Leaf(0, 0, 0), np.zeros(classes), 0.0, 0, 0.0, name, name)
    counts = node.classes(classes)
    hits = float(counts[node.label])
    return Branch(condition, node, counts, hits, 1, hits)


def node_of(root: Branch) -> Node:
    """Return the node that a branch stands for, as the tree is now."""
    order, made = [root], dict[int, Node]()
    for branch in order:
        order += branch.below
    for branch in reversed(order):
        if branch.attribute is None:
            made[id(branch)] = branch.cut
        else:
            parts = tuple((b.condition, made[id(b)]) for b in branch.below)
            made[id(branch)] = Split(
                branch.attribute, tuple((c, node) for c, node in parts if c is not None)
            )
    return made[id(root)]


def cut_back(branch: Branch) -> None:
    """End the tree at a branch: its parts are one."""
    branch.merged = tuple(one for part in branch.below for one in _parts_of(part))
    branch.attribute, branch.below, branch.paths = None, [], 1
    branch.hits = float(branch.counts[branch.cut.label])
