"""Pruning until every path meets a requirement, by algorithm ATP (Sharkey 2008, section 3.2).

The tree is pruned level by level from the bottom. A leaf that violates the requirement is merged
with as few siblings as possible. If all parts of a node are merged, the node becomes a leaf.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal

import numpy as np

from pramana_core.errors import ModelError, OptionError, RequirementUnmet
from pramana_core.learn.common.options import require_limit
from pramana_core.mixed import Floats
from pramana_core.model_sharing.conditions import Condition, Interval, together
from pramana_core.model_sharing.requirements import SLACK, Requirement
from pramana_core.model_sharing.tree import Leaf, Node, SharedTree, Split
from pramana_core.ties import ascending, exceeds

PropagatedCounts = Literal["exact", "propagated"]
"""The counts of merged paths, either exact counts or hits and misses by equation (1).

Propagated counts spread the misses of each part evenly over the other classes. The class of a leaf
may then not be its most frequent class, and a path that meets the requirement by propagated counts
may violate it by exact counts. Propagated counts are for trees without class counts, and for
reproducing the paper.
"""

MOST_TRIED = 200
"""The maximum number of sets of siblings of one size that are tried, least loss of hits first."""

LARGEST_SET = 3
"""The largest number of siblings whose sets are tried; beyond it, siblings are added by loss."""

LONGEST = 50
"""The maximum number of intervals on each side of a violating interval that are tried."""


@dataclass(slots=True, eq=False)
class Branch:
    """A node during pruning. A leaf has `attribute` None, and the root has `condition` None.

    `cut` is the leaf that would replace the node. `counts` are the known records of each class.
    `hits` is the number of records that the leaves below predict correctly.
    """

    condition: Condition | None
    cut: Leaf
    counts: Floats
    hits: float
    attribute: str | None = None
    below: list[Branch] = field(default_factory=list)


Join = Callable[[Sequence[Branch]], Branch]
"""A function that merges siblings into one leaf."""

Met = Callable[[Leaf], bool]


def join_exactly(branches: Sequence[Branch]) -> Branch:
    """Return the leaf into which siblings merge, by the counts of all classes."""
    counts = np.sum([b.counts for b in branches], axis=0)
    return _joined(branches, Leaf.of(counts), counts)


def join_by_hits(branches: Sequence[Branch]) -> Branch:
    """Return the leaf into which siblings merge, by hits and misses alone (equation (1))."""
    counts = np.sum([b.counts for b in branches], axis=0)
    cuts = [Leaf(b.cut.label, b.cut.hit, b.cut.miss) for b in branches]
    spread = np.sum([cut.classes(len(counts)) for cut in cuts], axis=0)
    # Fractions are rounded: classes that differ only by rounding are a tie, and the first wins.
    label = int(np.argmax(spread >= spread.max() * (1 - SLACK)))
    records = sum(cut.records for cut in cuts)
    hit = min(float(spread[label]), records)
    return _joined(branches, Leaf(label, hit, records - hit), counts)


def _joined(branches: Sequence[Branch], cut: Leaf, counts: Floats) -> Branch:
    conditions = [b.condition for b in branches if b.condition is not None]
    condition = together(conditions) if conditions else None
    return Branch(condition, cut, counts, float(counts[cut.label]))


def branch_of(node: Node, classes: int, join: Join, condition: Condition | None = None) -> Branch:
    """Return a node with the counts of the leaves below it (lines 2 to 4). Raises ModelError."""
    if isinstance(node, Leaf):
        if join is join_exactly and node.distribution is None and classes > 2:
            raise ModelError(
                "The leaves of this tree have hits and misses only, not the counts of all classes.",
                where="counts",
                remedy="Prune with propagated counts, or prune the tree before `released_form`.",
            )
        counts = node.classes(classes)
        return Branch(condition, node, counts, float(counts[node.label]))
    below = [branch_of(one, classes, join, part) for part, one in node.parts]
    joined, hits = join(below), sum(branch.hits for branch in below)
    return Branch(condition, joined.cut, joined.counts, hits, node.attribute, below)


def _node_of(branch: Branch) -> Node:
    if branch.attribute is None:
        return branch.cut
    parts = ((b.condition, _node_of(b)) for b in branch.below)
    return Split(branch.attribute, tuple((c, node) for c, node in parts if c is not None))


def _violates(branch: Branch, met: Met) -> bool:
    return branch.attribute is None and not met(branch.cut)


def merge_fewest(parts: Sequence[Branch], join: Join, met: Met) -> list[Branch]:
    """Merge siblings until all meet the requirement; if all must merge, one leaf remains.

    Each violating part merges with the siblings for which the fewest hits are lost. In a tie, the
    set with the fewest parts that meet the requirement is chosen, and then the smallest set.
    Intervals merge only with neighbours.
    """
    now = sorted(parts, key=_start)
    bad = [part for part in now if _violates(part, met)]
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
        bad += [joined] if _violates(joined, met) else []
    return now


def _start(part: Branch) -> float:
    return part.condition.above if isinstance(part.condition, Interval) else 0.0


def _least_of(
    groups: Iterator[list[Branch]], pool: list[Branch], join: Join, met: Met
) -> list[Branch]:
    """Return the group of siblings with the least loss that meets the requirement, or all parts."""
    best, least, price = pool, math.inf, (0, 0)
    scale = sum(part.hits for part in pool)
    for group in groups:
        joined = join(group)
        lost = sum(part.hits for part in group) - joined.hits
        if exceeds(lost, least, scale=scale) or not met(joined.cut):
            continue
        own = (sum(not _violates(part, met) for part in group), len(group))
        if own < price or exceeds(least, lost, scale=scale):
            best, price = group, own
        least = min(least, lost)
    return best


def _windows(parts: list[Branch], bad: Branch, join: Join, met: Met) -> Iterator[list[Branch]]:
    """Yield the shortest runs of intervals that include `bad` and, merged, meet the requirement."""
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
    """Yield sets of categories that include `bad`, smaller sets first."""
    others = [part for part in pool if part is not bad]
    lost = [o.hits + bad.hits - join([bad, o]).hits for o in others]
    others = [others[k] for k in ascending(lost, scale=sum(part.hits for part in pool))]
    for size in range(1, min(LARGEST_SET, len(others)) + 1):
        number = len(others)
        while number > size and math.comb(number, size) > MOST_TRIED:
            number -= 1
        for chosen in combinations(others[:number], size):
            yield [bad, *chosen]
    group = [bad]
    for other in (o for o in others if _violates(o, met)):
        group = [*group, other]
        if met(join(group).cut):
            yield group
            return


def prune(
    tree: SharedTree, requirement: Requirement, counts: PropagatedCounts = "exact"
) -> SharedTree:
    """Return a tree pruned so that every path meets a requirement; the root keeps its split.

    Raises RequirementUnmet: only the root would remain. OptionError: l exceeds the count of
    classes, `counts` is unknown, or exact diversity is required of propagated counts. ModelError:
    exact counts are needed, and a leaf has hits and misses only.
    """
    require_limit(counts, PropagatedCounts, "counts")
    requirement.require_for(tree.schema)
    if counts == "propagated" and requirement.c is not None and requirement.exact:
        raise OptionError(
            "Propagated counts are hits and misses: they cannot show diversity by exact counts.",
            where="counts",
            remedy="Prune with exact counts, or require diversity by hits and misses.",
        )
    join = join_exactly if counts == "exact" else join_by_hits
    root = branch_of(tree.root, tree.schema.classes, join)
    _cut_back(root, join, requirement.met_by)
    if root.attribute is None:
        raise _refusal(tree, requirement, root.cut)
    return SharedTree(tree.schema, _node_of(root))


def _cut_back(branch: Branch, join: Join, met: Met) -> None:
    """Merge parts below a node, from the bottom up, until no part violates the requirement."""
    if branch.attribute is None:
        return
    for below in branch.below:
        _cut_back(below, join, met)
    if any(_violates(part, met) for part in branch.below):
        branch.below = merge_fewest(branch.below, join, met)
    branch.hits = sum(part.hits for part in branch.below)
    if len(branch.below) == 1:
        branch.attribute, branch.below = None, []
        branch.hits = float(branch.counts[branch.cut.label])


def _refusal(tree: SharedTree, requirement: Requirement, root: Leaf) -> RequirementUnmet:
    if not isinstance(tree.root, Split):
        return RequirementUnmet(
            "The tree is a single leaf, so it has nothing to share.",
            remedy="Learn it from more records, or with a smaller min_leaf.",
        )
    itself = "meets it" if requirement.met_by(root) else "does not meet it either"
    return RequirementUnmet(
        f"No split of the tree has parts that all meet {requirement}; its root {itself}.",
        where=tree.root.attribute,
        remedy="Grow the tree with the requirement, which uses only splits whose parts can meet it;"
        " require less (a smaller k or l, a larger c); or learn from more records.",
    )
