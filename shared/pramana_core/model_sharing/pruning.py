"""Pruning until every path meets a requirement: algorithm ATP of section 3.2.

The picture of the algorithm, figure 4, is lost; this is what the text says of it. One traversal
adds up the counts from the leaves to the root. A second goes through the nodes level by level from
the bottom. Where a leaf violates the requirement, it is merged with some of its siblings, which go
with all that is below them; where all parts of a node are merged, the node is a leaf. A leaf that
still violates the requirement is merged in its turn one level up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge

from pramana_core.errors import OptionError
from pramana_core.learn.common.options import require_limits
from pramana_core.model_sharing.merging import (
    JOINS,
    MERGES,
    Branch,
    branches_of,
    cut_back,
    node_of,
    refusal,
    violates,
)
from pramana_core.model_sharing.requirements import Requirement
from pramana_core.model_sharing.tree import Condition, Leaf, SharedTree


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
