"""The product of several owners' trees: one tree whose leaves are where all theirs meet.

It predicts as their votes do, and can be read, drawn and shared as any tree. Its size is that of
the product partition, which grows quickly with numeric attributes and with owners.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pramana_core.errors import LimitExceeded
from pramana_core.model_sharing.combination.votes import TreeVotes
from pramana_core.model_sharing.core.attributes import Attribute, CategoricalAttribute
from pramana_core.model_sharing.core.conditions import Condition, Interval, Values
from pramana_core.model_sharing.core.tree import MOST_DEPTH, Leaf, Node, SharedTree, Split, whole
from pramana_core.model_sharing.generation.ranges import extent_of
from pramana_core.ties import first_largest

MOST_LEAVES = 20_000
_LEAST_SHARE = 1e-9
"""A part that counts no record keeps so many: its class shares are those of the votes, too."""


def product_tree(votes: TreeVotes, most_leaves: int = MOST_LEAVES) -> SharedTree:
    """Return the one tree that predicts as the votes of several do.

    A leaf counts what is expected there if the records of each tree's leaf are spread evenly over
    it, as PGEN spreads them, with the class shares of the votes.

    Args:
        votes: the trees' votes.
        most_leaves: the most leaves that are made.

    Raises:
        LimitExceeded: there would be more leaves, or the tree would be too deep.
    """
    return SharedTree(votes.schema, _Product(votes, most_leaves).tree())


@dataclass(frozen=True)
class _Place:
    """A leaf of a tree by its number, its records, and the logarithm of its share of the volume."""

    number: int
    records: float
    volume: float


@dataclass(frozen=True)
class _Fork:
    attribute: str
    parts: tuple[tuple[Condition, _Fork | _Place], ...]


Box = dict[str, Condition]
"""What is asked of some attributes; nothing is of the others."""


class _Product:
    def __init__(self, votes: TreeVotes, most: int) -> None:
        self._votes, self._most, self._made = votes, most, 0
        self._attributes: dict[str, Attribute] = {a.name: a for a in votes.schema.attributes}
        self._whole = {name: whole(votes.schema, name) for name in votes.schema.names}

    def tree(self) -> Node:
        roots = []
        for tree in self._votes.trees:
            self._numbered = 0
            roots.append(self._number(tree.root, {}))
        return self._node(tuple(roots), {}, 0)

    def _number(self, node: Node, box: Box) -> _Fork | _Place:
        """Return a tree's nodes with its leaves numbered in the order of its paths."""
        if isinstance(node, Leaf):
            self._numbered += 1
            return _Place(self._numbered - 1, node.records, self._volume(box))
        name = node.attribute
        parts = [(part, self._number(below, {**box, name: part})) for part, below in node.parts]
        return _Fork(name, tuple(parts))

    def _node(self, nodes: tuple[_Fork | _Place, ...], box: Box, depth: int) -> Node:
        if depth > MOST_DEPTH:
            raise self._limit(f"is deeper than {MOST_DEPTH} splits")
        while True:
            forks = ((k, node) for k, node in enumerate(nodes) if isinstance(node, _Fork))
            place, fork = next(forks, (0, None))
            if fork is None:
                return self._leaf([node for node in nodes if isinstance(node, _Place)], box)
            here = box.get(fork.attribute, self._whole[fork.attribute])
            parts = []
            for condition, below in fork.parts:
                left = _both(here, condition)
                if left is not None:
                    parts.append((left, (*nodes[:place], below, *nodes[place + 1 :])))
            if len(parts) > 1:
                break
            # A loop, not a call: of many deep trees there are many splits that split nothing.
            nodes = parts[0][1]
        return Split(
            fork.attribute,
            tuple(
                (left, self._node(here, {**box, fork.attribute: left}, depth + 1))
                for left, here in parts
            ),
        )

    def _leaf(self, places: Sequence[_Place], box: Box) -> Leaf:
        self._made += 1
        if self._made > self._most:
            raise self._limit(f"has more than {self._most:,} leaves")
        volume = self._volume(box)
        records = sum(p.records * math.exp(min(volume - p.volume, 0)) for p in places)
        shares = self._votes.of_leaves([np.array([p.number]) for p in places])[0]
        label = first_largest(shares)
        counts = tuple((shares * max(records, _LEAST_SHARE)).tolist())
        rest = sum(counts[:label]) + sum(counts[label + 1 :])
        return Leaf(label, counts[label], rest, counts)

    def _volume(self, box: Box) -> float:
        """Return the logarithm of a box's share of all that can be."""
        return sum(
            math.log(_share(self._attributes[name], condition)) for name, condition in box.items()
        )

    def _limit(self, what: str) -> LimitExceeded:
        return LimitExceeded(
            f"The product of {len(self._votes.trees)} trees {what}.",
            where="trees",
            remedy="Use their votes, which are the same classifier, or smaller trees.",
        )


def _share(attribute: Attribute, condition: Condition) -> float:
    """Return what share of an attribute's range or categories a condition leaves."""
    if isinstance(attribute, CategoricalAttribute):
        left = len(condition.codes) if isinstance(condition, Values) else 1
        return left / len(attribute.categories)
    extent = extent_of(attribute, condition if isinstance(condition, Interval) else None)
    return max((extent.high - extent.low) / (attribute.high - attribute.low), _LEAST_SHARE)


def _both(one: Condition, other: Condition) -> Condition | None:
    """Return what meets both conditions; None if nothing does."""
    if isinstance(one, Interval) and isinstance(other, Interval):
        above, up_to = max(one.above, other.above), min(one.up_to, other.up_to)
        return Interval(above, up_to) if above < up_to else None
    if isinstance(one, Values) and isinstance(other, Values):
        codes = tuple(sorted(set(one.codes) & set(other.codes)))
        return Values(codes) if codes else None
    return None
