"""What a shared tree promises that its receiver can check, and what it does not, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from shared.errors import ModelError
from shared.model_sharing.anonymity.requirements import Requirement, meets
from shared.model_sharing.core.tree import SharedTree

NO_BOUND = (
    "A shared tree carries no gamma and no epsilon: nothing bounds what it tells of one record to"
    " somebody who knows the others."
)
SUBTRACTION = (
    "Two trees of tables that differ by one record give that record's path and class away, by"
    " subtracting their counts."
)
UNPROTECTED = (
    "Nothing is required of the paths of this tree: one may be of a single person, and tells the"
    " class of that person."
)
STRUCTURE = (
    "Which splits there are was learned from the records, too; thresholds are rounded, and ranges"
    " are declared or rounded, never a person's extreme."
)
HOMOGENEOUS = (
    "That does not hide classes: a path whose records are all of one class tells the class of"
    " everybody known to be on it; (c, l)-diversity is for that."
)
EVEN_MISSES = (
    "Misses are taken to be spread evenly over other classes, and need not be: a path whose misses"
    " are all of one class can pass."
)

_DECLARED = "That holds if ranges and categories were declared without looking at the records."

_LISTED = 12
"""A sentence names so many columns."""


def read_words(columns: Sequence[str]) -> tuple[str, ...]:
    """Return what must be known of columns whose categories or range nobody declared.

    Args:
        columns: their names; for none there is nothing to say.
    """
    if not columns:
        return ()
    named = ", ".join(repr(name) for name in columns[:_LISTED])
    more = f" and {len(columns) - _LISTED} more" if len(columns) > _LISTED else ""
    said = (
        f"Nobody declared the categories or the range of {named}{more}: they were read from the"
        " records; a category tells that somebody has it, and a range is rounded but follows them."
    )
    return (said,)


def promised(tree: SharedTree, requirement: Requirement | None) -> Requirement | None:
    """Return what of a requirement the counts of a tree show, as it leaves.

    Diversity by the exact counts cannot be seen from hits and misses; then it is promised by hits
    and misses, or k alone, or nothing.

    Args:
        tree: the tree as it leaves.
        requirement: what its paths met when they told all counts.
    """
    if requirement is None:
        return None
    weaker = [requirement, requirement.by_hits]
    weaker += [] if requirement.k is None else [Requirement(k=requirement.k)]
    for candidate in weaker:
        try:
            if meets(tree, candidate):
                return candidate
        except ModelError:
            continue
    return None


def protection_words(
    requirement: Requirement | None, classes: int, epsilon: float | None = None
) -> tuple[str, ...]:
    """Return what must be known of a tree before it leaves, a sentence each.

    Args:
        requirement: what its paths meet.
        classes: how many classes there are.
        epsilon: of a private tree.
    """
    if epsilon is not None:
        bound = (
            "The whole tree, its splits and its counts, is differentially private with epsilon"
            f" {epsilon:g} for the replacement of one record by any other; epsilons of releases of"
            " the same records add."
        )
        return (bound, _DECLARED)
    said = [NO_BOUND]
    if requirement is None:
        said.append(UNPROTECTED)
    else:
        said.append(f"Each path meets {requirement}.")
        if requirement.c is None:
            said.append(HOMOGENEOUS)
        elif not requirement.exact and classes > 2:
            said.append(EVEN_MISSES)
    return (*said, SUBTRACTION, STRUCTURE)
