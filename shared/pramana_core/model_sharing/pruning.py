"""Pruning until every path meets a requirement: algorithm ATP of section 3.2.

The picture of the algorithm, figure 4, is lost; this is what the text says of it. One traversal
adds up the counts from the leaves to the root. A second goes through the nodes level by level from
the bottom. Where a leaf violates the requirement, it is merged with some of its siblings, which go
with all that is below them; where all parts of a node are merged, the node is a leaf. A leaf that
still violates the requirement is merged in its turn one level up.

Also here:

* Which siblings a part that violates the requirement is merged with (section 3.2).
* The nodes of a tree while it is pruned: each knows what it would be, were the tree cut there.
* Why nothing is left of a tree, how near the requirement came, and what may be asked instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge

from pramana_core.errors import ModelError, OptionError, RequirementUnmet
from pramana_core.learn.common.options import require_limits
from pramana_core.mixed import Floats
from pramana_core.model_sharing.attributes import Attribute, CategoricalAttribute
from pramana_core.model_sharing.requirements import SLACK, Requirement
from pramana_core.model_sharing.tree import (
    Condition,
    Interval,
    Leaf,
    Node,
    SharedTree,
    Split,
    Values,
    together,
)
from pramana_core.ties import ascending, exceeds

# The nodes of a tree while it is pruned: each knows what it would be, were the tree cut there.
#
# All counts are added up once, from the leaves to the root, so that merging siblings reads only
# the siblings.


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


MOST_TRIED = 200
"""So many sets of siblings of one size are tried at most, those first that lose few hits."""

LARGEST_SET = 3
"""So many siblings of a category are tried in all ways, more only in the order of their loss."""

LONGEST = 50
"""So many intervals before and after one that violates the requirement are tried at most."""

Met = Callable[[Leaf], bool]
Merging = Callable[[Sequence[Branch], Attribute, Join, Met], list[Branch]]
"""Merges siblings until none violates the requirement; a single one if that needs them all."""


def violates(branch: Branch, met: Met) -> bool:
    """Return whether a part is a leaf that does not meet the requirement."""
    return branch.attribute is None and not met(branch.cut)


def merge_all(parts: Sequence[Branch], _: Attribute, join: Join, met: Met) -> list[Branch]:
    """Merge all siblings as soon as one of them violates the requirement."""
    return [join(parts)] if any(violates(part, met) for part in parts) else list(parts)


def merge_by_taxonomy(
    parts: Sequence[Branch], attribute: Attribute, join: Join, met: Met
) -> list[Branch]:
    """Merge those under the same ancestor, from the nearest ancestors to the root.

    Where there is no taxonomy, all siblings are under the same one.
    """
    now = list(parts)
    for level in range(1, _height(attribute) + 1):
        families = _families(now, attribute, level)
        now = [
            one
            for family in families
            for one in (
                [join(family)]
                if len(family) > 1 and any(violates(part, met) for part in family)
                else family
            )
        ]
    return merge_all(now, attribute, join, met)


def merge_fewest(
    parts: Sequence[Branch], attribute: Attribute, join: Join, met: Met
) -> list[Branch]:
    """Merge each part that violates the requirement at the loss of the fewest hits.

    Of equally good sets of siblings that is taken which has the fewest parts that need no merging
    themselves, then the smallest: parts that violate the requirement help each other first, else
    all would be drawn to the largest one. Under a taxonomy the nearest ancestor that suffices comes
    first. Intervals are merged with those beside them.
    """
    now = sorted(parts, key=_start)
    bad = [part for part in now if violates(part, met)]
    if bad and not met(join(now).cut):
        return [join(now)]
    while bad and len(now) > 1:
        worst = min(bad, key=lambda part: part.cut.records)
        chosen = _least_loss(now, worst, attribute, join, met)
        taken, joined = {id(part) for part in chosen}, join(chosen)
        at = now.index(chosen[0])
        now = [part for part in now if id(part) not in taken]
        now.insert(at, joined)
        bad = [part for part in bad if id(part) not in taken]
        bad += [joined] if violates(joined, met) else []
    return now


MERGES: dict[str, Merging] = {
    "all": merge_all,
    "taxonomy": merge_by_taxonomy,
    "fewest": merge_fewest,
}


def _least_loss(
    parts: list[Branch], bad: Branch, attribute: Attribute, join: Join, met: Met
) -> list[Branch]:
    pools = [
        family
        for level in range(1, _height(attribute) + 1)
        for family in _families(parts, attribute, level)
        if bad in family and len(family) > 1
    ]
    for pool in pools:
        # More siblings never hurt (`refusal`), so what all of them cannot do none of them can.
        if met(join(pool).cut):
            return _least_of(_sets(pool, bad, join, met), pool, join, met)
    if isinstance(bad.condition, Interval):
        return _least_of(_windows(parts, bad, join, met), parts, join, met)
    return _least_of(_sets(parts, bad, join, met), parts, join, met)


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


def _height(attribute: Attribute) -> int:
    if isinstance(attribute, CategoricalAttribute) and attribute.taxonomy is not None:
        return attribute.taxonomy.height
    return 0


def _families(parts: Sequence[Branch], attribute: Attribute, level: int) -> list[list[Branch]]:
    """Return siblings by ancestor; one of several ancestors brings those of all into one family."""
    if not isinstance(attribute, CategoricalAttribute) or attribute.taxonomy is None:
        return [list(parts)]
    names = attribute.taxonomy.ancestors
    families: list[tuple[set[str], list[Branch]]] = []
    for part in parts:
        codes = part.condition.codes if isinstance(part.condition, Values) else ()
        groups, family = {names[code][level - 1] for code in codes}, [part]
        apart = []
        for other_groups, others in families:
            if groups & other_groups:
                groups, family = groups | other_groups, [*others, *family]
            else:
                apart.append((other_groups, others))
        families = [*apart, (groups, family)]
    return [family for _, family in families]


# Why nothing is left of a tree, how near the requirement came, and what may be asked instead.
#
# Diversity and k-anonymity only grow as leaves are merged: the records add up; the most frequent
# class of the whole has no more than those of its parts together; what follows the first l - 1
# classes has no less (Machanavajjhala et al. 2006, section 4, call it monotone). So whether
# anything is left depends only on the parts of the root, each taken as one leaf, and is found
# quickly.

_LARGEST_C = 1e9

_MOST_PARTS = 100
"""With more parts it is not tried what another way of merging would leave."""

_GROW = (
    "grow the tree with the requirement, so that only splits are taken whose parts can meet it; or"
    " learn from more records"
)


def refusal(
    tree: SharedTree,
    requirement: Requirement,
    root: Leaf,
    parts: Sequence[Branch],
    join: Join,
    merge: Merging,
) -> RequirementUnmet:
    """Return the error that says why nothing is left.

    Args:
        tree: the unpruned tree.
        requirement: what its paths should meet.
        root: the leaf that its root would be.
        parts: the leaves that the parts of the root would be.
        join: how counts are added up.
        merge: what is merged.
    """
    if not isinstance(tree.root, Split):
        return RequirementUnmet(
            "The tree is a single leaf: there is nothing in it to share.",
            remedy="Learn it from more records, or with a smaller min_leaf.",
        )
    attribute = tree.schema[tree.root.attribute]

    def leaves_something(asked: Requirement) -> bool:
        return len(merge(parts, attribute, join, asked.met_by)) > 1

    itself = "meets it" if requirement.met_by(root) else "does not meet it either"
    weaker = _weaker(requirement, leaves_something)
    offers = [f"ask for {' or '.join(weaker)}"] if weaker else []
    few = len(parts) <= _MOST_PARTS
    if few and len(merge_fewest(parts, attribute, join, requirement.met_by)) > 1:
        offers.append("merge no more siblings than needed (merge='fewest')")
    failing = [str(one) for one in _alone(requirement) if not leaves_something(one)]
    which = ""
    if requirement.k is not None and requirement.c is not None and len(failing) == 1:
        which = f" {failing[0]}, alone is already too much."
    remedy = "; ".join([*offers, _GROW])
    return RequirementUnmet(
        f"Pruned until every path has {requirement}, nothing is left of the tree but its root,"
        f" which {itself}.{which}",
        where=tree.root.attribute,
        remedy=f"{remedy[0].upper()}{remedy[1:]}.",
    )


def _alone(requirement: Requirement) -> list[Requirement]:
    found = [] if requirement.k is None else [Requirement(k=requirement.k)]
    if requirement.c is not None:
        found.append(replace(requirement, k=None))
    return found


def _weaker(requirement: Requirement, leaves_something: Callable[[Requirement], bool]) -> list[str]:
    """Return what could be asked for instead, each with the rest as it is."""
    found = []
    if requirement.k is not None:
        k = _largest_k(requirement, leaves_something)
        if k is not None:
            found.append(f"k up to {k}")
    if requirement.c is not None and requirement.l is not None:
        c = _smallest_c(requirement, leaves_something)
        if c is not None:
            found.append(f"c of {c:.12g} or more")
        for l in range(requirement.l - 1, 1, -1):  # noqa: E741
            if leaves_something(replace(requirement, l=l)):
                found.append(f"l = {l}")
                break
    return found


def _largest_k(
    requirement: Requirement, leaves_something: Callable[[Requirement], bool]
) -> int | None:
    low, high = 0, math.ceil(requirement.k or 0)
    while high - low > 1:
        middle = (low + high) // 2
        if leaves_something(replace(requirement, k=middle)):
            low = middle
        else:
            high = middle
    return low or None


def _smallest_c(
    requirement: Requirement, leaves_something: Callable[[Requirement], bool]
) -> float | None:
    """Return about the smallest c with which something is left, on two digits."""
    low = high = requirement.c or 0.0
    while not leaves_something(replace(requirement, c=high)):
        low, high = high, 2 * high
        if high > _LARGEST_C:
            return None
    while high > 1.005 * low:
        middle = math.sqrt(low * high)
        if leaves_something(replace(requirement, c=middle)):
            high = middle
        else:
            low = middle
    unit = 10.0 ** (math.floor(math.log10(high)) - 1)
    rounded = math.ceil(high / unit - 1e-9) * unit
    return rounded if leaves_something(replace(requirement, c=rounded)) else high


@dataclass(frozen=True)
class PruningOptions:
    """How a tree is pruned.

    Attributes:
        merge: what a path that violates the requirement is merged with: "all" its siblings;
            "taxonomy", those under the same ancestor, from the nearest on (all where there is no
            taxonomy); "fewest", whichever suffice at the loss of the fewest hits.
        counts: what decides and is told of merged paths: "exact", the class counts of the owner's
            records; or "propagated", hits and misses by equation (1), which takes the misses of
            each part as spread evenly. Exact counts are the default because an owner has them:
            propagated ones may tell a class that is not the most frequent, and a path that meets
            the requirement by them may violate it by the records. They are for trees whose leaves
            tell no more than hits and misses, and for the paper's figures.
        least_gain: how many hits each path must win: a node is cut too where its paths tell fewer
            than so many times their number, less one, more records rightly than it would as one
            path (cost-complexity pruning, Breiman et al. 1984; the root's split stays). None cuts
            nothing for this, as in the paper. A diverse path often has two classes about equally
            often, and tells the one that is more frequent among these records only: nursery grown
            to (10, 2) told 30.5 % of other records rightly on 1,453 paths, and with 3 hits a path
            56.4 % on 20. With (c, l) 2 or 3 is best; with k alone 1 costs little, more something.

    Raises:
        OptionError: there is no such way, or least_gain is no number of at least 0.
    """

    merge: Literal["all", "taxonomy", "fewest"] = "all"
    counts: Literal["exact", "propagated"] = "exact"
    least_gain: Annotated[float, Ge(0)] | None = None

    def __post_init__(self) -> None:
        require_limits(self)


@dataclass(frozen=True)
class Merge:
    """A leaf of a pruned tree that was more than one node before.

    Attributes:
        path: the conditions that lead to the node whose parts were merged.
        attribute: what that node asks for, in the unpruned tree.
        parts: the merged parts, as conditions of the unpruned tree.
        into: the condition of what they are now; None if the node itself is now a leaf.
        leaf: the leaf they are now.
        leaves: how many leaves of the unpruned tree they had.
        hits_before: how many of the owner's records those tell rightly.
        hits_after: how many the leaf does.
    """

    path: Mapping[str, Condition]
    attribute: str
    parts: tuple[Condition, ...]
    into: Condition | None
    leaf: Leaf
    leaves: int
    hits_before: float
    hits_after: float

    @property
    def records(self) -> float:
        """How many records are now on another path."""
        return self.leaf.records


@dataclass(frozen=True)
class Pruned:
    """A tree that meets a requirement, and what was given up for it.

    Attributes:
        tree: the pruned tree, with all counts it has (see `released_form`).
        before: the tree as it was grown.
        requirement: what it meets.
        options: how it was pruned.
        steps: what was merged: one entry for each leaf that is new, in the order of the paths.
        hits_before: how many of the owner's records the unpruned tree tells rightly.
        hits_after: how many the pruned tree does.

    Hits are exact where the leaves count all classes, and expected by equation (1) elsewhere.
    """

    tree: SharedTree
    before: SharedTree
    requirement: Requirement
    options: PruningOptions
    steps: tuple[Merge, ...]
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
    def records_moved(self) -> float:
        """How many records are on another path than before."""
        return sum(step.records for step in self.steps)

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
    first = [join([part]) for part in root.below]
    hits_before = root.grown_hits
    for branch in reversed(order):
        if branch.attribute is None:
            continue
        if any(violates(part, requirement.met_by) for part in branch.below):
            attribute = tree.schema[branch.attribute]
            branch.below = merge(branch.below, attribute, join, requirement.met_by)
        branch.hits = sum(part.hits for part in branch.below)
        branch.paths = sum(part.paths for part in branch.below)
        if len(branch.below) == 1 or (branch is not root and _wins_little(branch, options)):
            cut_back(branch)
    if root.attribute is None:
        raise refusal(tree, requirement, root.cut, first, join, merge)
    steps = tuple(_merges(root))
    pruned = SharedTree(tree.schema, node_of(root)) if steps else tree
    return Pruned(pruned, tree, requirement, options, steps, hits_before, root.hits)


def _wins_little(branch: Branch, options: PruningOptions) -> bool:
    if options.least_gain is None:
        return False
    as_one = float(branch.counts[branch.cut.label])
    return branch.hits - as_one < options.least_gain * (branch.paths - 1)


def _merges(root: Branch) -> Iterator[Merge]:
    """Return the leaves that are new, in the order of the paths."""
    waiting: list[tuple[Branch, dict[str, Condition], str]] = [(root, {}, "")]
    while waiting:
        branch, path, above = waiting.pop()
        if branch.attribute is not None:
            for part in reversed(branch.below):
                # What is made of siblings is told as a merge of the node that they are parts of.
                known = (
                    path if part.merged and part.asked is None else _narrowed(path, branch, part)
                )
                waiting.append((part, known, branch.attribute))
        elif branch.merged:
            yield Merge(
                path=path,
                attribute=branch.asked or above,
                parts=branch.merged,
                into=None if branch.asked is not None else branch.condition,
                leaf=branch.cut,
                leaves=branch.leaves,
                hits_before=branch.grown_hits,
                hits_after=branch.hits,
            )


def _narrowed(path: dict[str, Condition], branch: Branch, part: Branch) -> dict[str, Condition]:
    if branch.attribute is None or part.condition is None:
        return path
    return {**path, branch.attribute: part.condition}
