"""Why nothing is left of a tree, how near the requirement came, and what may be asked instead.

Diversity and k-anonymity only grow as leaves are merged: the records add up; the most frequent
class of the whole has no more than those of its parts together; what follows the first l - 1
classes has no less (Machanavajjhala et al. 2006, section 4, call it monotone). So whether anything
is left depends only on the parts of the root, each taken as one leaf, and is found quickly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from pramana_core.errors import RequirementUnmet
from pramana_core.model_sharing.merging import Branch, Join, Merge, merge_fewest
from pramana_core.model_sharing.requirements import Requirement
from pramana_core.model_sharing.tree import Leaf, SharedTree, Split

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
    merge: Merge,
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
