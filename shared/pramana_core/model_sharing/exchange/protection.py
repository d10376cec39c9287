"""What a shared tree promises that its receiver can check, and what it does not, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from pramana_core.alike import first_few
from pramana_core.errors import ModelError
from pramana_core.model_sharing.requirements import Requirement, meets
from pramana_core.model_sharing.tree import SharedTree

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
    "Which splits there are was learned from the records, too. Thresholds are rounded, and lie"
    " between values of two records; ranges are declared or rounded, never a person's extreme."
)
HOMOGENEOUS = (
    "That does not hide classes: a path whose records are all of one class tells the class of"
    " everybody known to be on it; (c, l)-diversity is for that."
)
EVEN_MISSES = (
    "Misses are taken to be spread evenly over other classes, and need not be: a path whose misses"
    " are all of one class can pass."
)

_PRIVATE = (
    "It holds whatever else anybody knows; how many records there are is taken to be known.",
    "Ranges and categories must have been declared without looking at the records.",
    "Epsilons of releases of the same records add.",
    "Each path tells how many of its records are of each class, with noise.",
    "What holds for most people on a path is told of each of them, in the table or not.",
)

_TOLD = {
    "hits": "Each path tells its class, how many of its records are of it and how many are not, and"
    " not which other classes there are.",
    "distribution": "Each path tells how many of its records are of each class, rare ones too.",
}

_LISTED = 12
"""A sentence names so many columns."""


def read_words(columns: Sequence[str]) -> tuple[str, ...]:
    """Return a sentence on columns whose categories or range nobody declared; none for none."""
    if not columns:
        return ()
    said = (
        f"Nobody declared the categories or the range of {first_few(map(repr, columns), _LISTED)}:"
        " they were read from the records; a category tells that somebody has it, and a range is"
        " rounded but follows them."
    )
    return (said,)


def promised(tree: SharedTree, requirement: Requirement | None) -> Requirement | None:
    """Return what of a requirement the counts of a tree show, as it leaves.

    Hits and misses can show diversity by hits and misses, or k alone, or nothing.
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
    requirement: Requirement | None, classes: int, epsilon: float | None = None, tell: str = "hits"
) -> tuple[str, ...]:
    """Return what one must know of a tree before it leaves, in sentences: what its paths meet and
    tell (`released_form`), or the epsilon of a private tree."""
    if epsilon is not None:
        bound = (
            "The whole tree, its splits and its counts, is differentially private with epsilon"
            f" {epsilon:g}: replacing one record by any other changes the probability of no tree by"
            f" more than a factor of e to the {epsilon:g}."
        )
        return (bound, *_PRIVATE)
    required = (UNPROTECTED,) if requirement is None else _required(requirement, classes)
    return (NO_BOUND, *required, _TOLD[tell], SUBTRACTION, STRUCTURE)


def _required(asked: Requirement, classes: int) -> tuple[str, ...]:
    said = []
    if asked.k is not None:
        said.append(f"Each path is of at least {asked.k:g} records (k-anonymity).")
    if asked.c is None or asked.l is None:
        return (*said, HOMOGENEOUS)
    by = (
        "by the counts of all its classes, the most frequent one is less than"
        f" {asked.c:g} times all from number {asked.l} on together"
        if asked.exact
        else f"by hits and misses, its class is less than {asked.c:g} times the average of"
        f" {asked.l - 1} others"
    )
    said.append(f"Each path is (c, l)-diverse with c = {asked.c:g}, l = {asked.l}: {by}.")
    return (*said, EVEN_MISSES) if not asked.exact and classes > 2 else tuple(said)
