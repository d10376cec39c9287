"""Pruning until every path meets a requirement: algorithm ATP of section 3.2.

The picture of the algorithm, figure 4, is lost; this is what the text says of it. One traversal
adds up the counts from the leaves to the root. A second goes through the nodes level by level from
the bottom. Where a leaf violates the requirement, it is merged with some of its siblings, which go
with all that is below them; where all parts of a node are merged, the node is a leaf. A leaf that
still violates the requirement is merged in its turn one level up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal

import numpy as np

from pramana_core.errors import ModelError, OptionError, RequirementUnmet
from pramana_core.learn.common.options import require_limits
from pramana_core.mixed import Floats
from pramana_core.model_sharing.conditions import Condition, Interval, together
from pramana_core.model_sharing.requirements import SLACK, Requirement
from pramana_core.model_sharing.tree import Leaf, Node, SharedTree, Split
from pramana_core.ties import ascending, exceeds


@dataclass(slots=True, eq=False)
class Branch:
    """A node while a tree is pruned.

    Attributes:
        condition: how its parent's split leads here; None for the root.
        cut: the leaf it is, or would be if the tree ended here.
        counts: how many records of each class it has, as well as that is known.
        hits: how many records the leaves below it tell rightly, as the tree is now.
        attribute: what it asks for; None for a leaf, as the tree is now.
        below: its parts.
        merged: whether it is a leaf that was several nodes.
    """

    condition: Condition | None
    cut: Leaf
    counts: Floats
    hits: float
    attribute: str | None = None
    below: list[Branch] = field(default_factory=list)
    merged: bool = False


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
    condition = together(conditions) if conditions else None
    return Branch(condition, cut, counts, float(counts[cut.label]), merged=True)


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
            branch.hits = sum(b.hits for b in branch.below)
    return [branch for branch, _ in order]


def _branch(condition: Condition | None, node: Node, classes: int) -> Branch:
    if isinstance(node, Split):
        return Branch(condition, Leaf(0, 0, 0), np.zeros(classes), 0.0, node.attribute)
    counts = node.classes(classes)
    return Branch(condition, node, counts, float(counts[node.label]))


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


MOST_TRIED = 200
"""So many sets of siblings of one size are tried at most, those first that lose few hits."""

LARGEST_SET = 3
"""So many siblings of a category are tried in all ways, more only in the order of their loss."""

LONGEST = 50
"""So many intervals before and after one that violates the requirement are tried at most."""

Met = Callable[[Leaf], bool]
Merging = Callable[[Sequence[Branch], Join, Met], list[Branch]]
"""Merges siblings until none violates the requirement; a single one if that needs them all."""


def violates(branch: Branch, met: Met) -> bool:
    """Return whether a part is a leaf that does not meet the requirement."""
    return branch.attribute is None and not met(branch.cut)


def merge_all(parts: Sequence[Branch], join: Join, met: Met) -> list[Branch]:
    """Merge all siblings as soon as one of them violates the requirement."""
    return [join(parts)] if any(violates(part, met) for part in parts) else list(parts)


def merge_fewest(parts: Sequence[Branch], join: Join, met: Met) -> list[Branch]:
    """Merge each part that violates the requirement at the loss of the fewest hits.

    Of equally good sets of siblings that is taken which has the fewest parts that need no merging
    themselves, then the smallest: parts that violate the requirement help each other first, else
    all would be drawn to the largest one. Intervals are merged with those beside them.
    """
    now = sorted(parts, key=_start)
    bad = [part for part in now if violates(part, met)]
    if bad and not met(join(now).cut):
        return [join(now)]
    while bad and len(now) > 1:
        worst = min(bad, key=lambda part: part.cut.records)
        sets = _windows if isinstance(worst.condition, Interval) else _sets
        chosen = _least_of(sets(now, worst, join, met), now, join, met)
        taken, joined = {id(part) for part in chosen}, join(chosen)
        at = now.index(chosen[0])
        now = [part for part in now if id(part) not in taken]
        now.insert(at, joined)
        bad = [part for part in bad if id(part) not in taken]
        bad += [joined] if violates(joined, met) else []
    return now


MERGES: dict[str, Merging] = {
    "all": merge_all,
    "fewest": merge_fewest,
}


def _least_of(
    groups: Iterator[list[Branch]], pool: list[Branch], join: Join, met: Met
) -> list[Branch]:
    """Return the group that suffices and loses least; all of the pool if there is none."""
    best, least, price = pool, math.inf, (0, 0)
    # Thirds of misses are rounded, as those are that are lost.
    scale = sum(part.hits for part in pool)
    for group in groups:
        joined = join(group)
        lost = sum(part.hits for part in group) - joined.hits
        if exceeds(lost, least, scale=scale) or not met(joined.cut):
            continue
        own = (sum(not violates(part, met) for part in group), len(group))
        if own < price or exceeds(least, lost, scale=scale):
            best, price = group, own
        least = min(least, lost)
    return best


def _windows(parts: list[Branch], bad: Branch, join: Join, met: Met) -> Iterator[list[Branch]]:
    """Return the intervals side by side that suffice with this one, and none too many."""
    at = parts.index(bad)
    last = min(at + LONGEST, len(parts) - 1)
    for first in range(at, max(-1, at - LONGEST), -1):
        if not met(join(parts[first : last + 1]).cut):
            continue
        while last > at and met(join(parts[first:last]).cut):
            last -= 1
        yield parts[first : last + 1]
        if last == at:
            return


def _sets(pool: list[Branch], bad: Branch, join: Join, met: Met) -> Iterator[list[Branch]]:
    """Return sets of categories with this one: all small ones, or those first that lose least."""
    others = [part for part in pool if part is not bad]
    lost = [o.hits + bad.hits - join([bad, o]).hits for o in others]
    others = [others[place] for place in ascending(lost, scale=sum(part.hits for part in pool))]
    for size in range(1, min(LARGEST_SET, len(others)) + 1):
        number = len(others)
        while number > size and math.comb(number, size) > MOST_TRIED:
            number -= 1
        for chosen in combinations(others[:number], size):
            yield [bad, *chosen]
    group = [bad]
    for other in (o for o in others if violates(o, met)):
        group = [*group, other]
        if met(join(group).cut):
            yield group
            return


def _start(part: Branch) -> float:
    return part.condition.above if isinstance(part.condition, Interval) else 0.0


def _refusal(tree: SharedTree, requirement: Requirement, root: Leaf) -> RequirementUnmet:
    """Return the error of a tree of which nothing is left but the root."""
    if not isinstance(tree.root, Split):
        return RequirementUnmet(
            "The tree is a single leaf: there is nothing in it to share.",
            remedy="Learn it from more records, or with a smaller min_leaf.",
        )
    itself = "meets it" if requirement.met_by(root) else "does not meet it either"
    return RequirementUnmet(
        f"Pruned until every path has {requirement}, nothing is left of the tree but its root,"
        f" which {itself}.",
        where=tree.root.attribute,
        remedy="Grow the tree with the requirement, so that only splits are taken whose parts can"
        " meet it; ask for less (a smaller k or l, a larger c); or learn from more records.",
    )


@dataclass(frozen=True)
class PruningOptions:
    """How a tree is pruned.

    Attributes:
        merge: what a path that violates the requirement is merged with: "all" its siblings, or
            the "fewest" that suffice, at the loss of the fewest hits.
        counts: what decides and is told of merged paths: "exact", the class counts of the owner's
            records; or "propagated", hits and misses by equation (1), which takes the misses of
            each part as spread evenly. Exact counts are the default because an owner has them:
            propagated ones may tell a class that is not the most frequent, and a path that meets
            the requirement by them may violate it by the records. They are for trees whose leaves
            tell no more than hits and misses, and for the paper's figures.

    Raises:
        OptionError: there is no such way.
    """

    merge: Literal["all", "fewest"] = "all"
    counts: Literal["exact", "propagated"] = "exact"

    def __post_init__(self) -> None:
        require_limits(self)


@dataclass(frozen=True)
class Pruned:
    """A tree that meets a requirement, and what was given up for it.

    Attributes:
        tree: the pruned tree, with all counts it has (see `released_form`).
        before: the tree as it was grown.
        requirement: what it meets.
        options: how it was pruned.
        records_moved: how many records are on another path than before.
        hits_before: how many of the owner's records the unpruned tree tells rightly.
        hits_after: how many the pruned tree does.

    Hits are exact where the leaves count all classes, and expected by equation (1) elsewhere.
    """

    tree: SharedTree
    before: SharedTree
    requirement: Requirement
    options: PruningOptions
    records_moved: float
    hits_before: float
    hits_after: float

    @property
    def leaves_before(self) -> int:
        """How many paths the unpruned tree has."""
        return len(self.before.leaves)

    @property
    def leaves_after(self) -> int:
        """How many paths the pruned tree has."""
        return len(self.tree.leaves)

    @property
    def accuracy_before(self) -> float:
        """The share of the owner's records that the unpruned tree tells rightly."""
        return self.hits_before / self.before.records

    @property
    def accuracy_after(self) -> float:
        """The share of the owner's records that the pruned tree tells rightly."""
        return self.hits_after / self.before.records


def prune(
    tree: SharedTree, requirement: Requirement, options: PruningOptions | None = None
) -> Pruned:
    """Return a tree cut back so that every path meets a requirement; its root still splits.

    Args:
        tree: the tree of one owner.
        requirement: what every path must meet.
        options: what is merged, and by which counts.

    Raises:
        RequirementUnmet: nothing but the root would be left, or not even it meets the requirement.
        OptionError: l is above the number of classes; or the exact counts are to decide on counts
            that are propagated.
        ModelError: the exact counts are to decide, and a leaf tells hits and misses only.
    """
    options = options or PruningOptions()
    requirement.require_for(tree.schema)
    if options.counts == "propagated" and requirement.c is not None and requirement.exact:
        raise OptionError(
            "Propagated counts are hits and misses: they cannot show diversity by exact counts.",
            where="counts",
            remedy="Prune with exact counts, or ask for diversity by hits and misses.",
        )
    join, merge = JOINS[options.counts], MERGES[options.merge]
    order = branches_of(tree, join)
    root = order[0]
    hits_before = root.hits
    for branch in reversed(order):
        if branch.attribute is None:
            continue
        if any(violates(part, requirement.met_by) for part in branch.below):
            branch.below = merge(branch.below, join, requirement.met_by)
        branch.hits = sum(part.hits for part in branch.below)
        if len(branch.below) == 1:
            branch.attribute, branch.below, branch.merged = None, [], True
            branch.hits = float(branch.counts[branch.cut.label])
    if root.attribute is None:
        raise _refusal(tree, requirement, root.cut)
    pruned, moved = SharedTree(tree.schema, node_of(root)), _merged_records(root)
    return Pruned(pruned, tree, requirement, options, moved, hits_before, root.hits)


def _merged_records(branch: Branch) -> float:
    own = branch.cut.records if branch.merged else 0.0
    return own + sum(map(_merged_records, branch.below))
