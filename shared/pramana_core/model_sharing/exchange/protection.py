"""Sentences on those guarantees of a shared tree that its receiver can check, and their limits."""

from __future__ import annotations

from collections.abc import Sequence

from pramana_core.alike import first_few
from pramana_core.errors import ModelError
from pramana_core.model_sharing.requirements import Requirement, meets
from pramana_core.model_sharing.tree import SharedTree

NO_BOUND = (
    "A shared tree has neither a gamma nor an epsilon, so nothing limits what it reveals about"
    " one record to a reader who knows the others."
)
SUBTRACTION = (
    "The trees of two tables that differ by one record reveal the path and the class of this"
    " record to a reader who subtracts the counts."
)
UNPROTECTED = (
    "The paths of this tree do not meet a requirement, so a path may have a single person, whose"
    " class it then reveals."
)
STRUCTURE = (
    "The splits were also learned from the records. Thresholds are rounded numbers between the"
    " values of two records; ranges are declared or rounded, never a person's extreme value."
)
HOMOGENEOUS = (
    "This does not hide classes, because a path whose records all have one class reveals the"
    " class of everybody known to be on it. (c, l)-diversity prevents this."
)
EVEN_MISSES = (
    "The check assumes that misses are spread evenly over the other classes, so a path whose"
    " misses all have one class can pass."
)

_PRIVATE = (
    "The guarantee holds whatever else a reader knows. It regards the number of records as known.",
    "It requires that ranges and categories were declared without looking at the records.",
    "The epsilons of several releases of the same records add up.",
    "Each path shows the number of its records in each class, with noise.",
    "The tree reveals the most frequent class of each path, also for people not in the table.",
)

_TOLD = {
    "hits": (
        "Each path shows its class and how many of its records have this class and how many do"
        " not, but not the other classes."
    ),
    "distribution": (
        "Each path shows the number of its records in each class, including rare classes."
    ),
}

_LISTED = 12
"""The maximum number of columns that a sentence names."""


def read_words(columns: Sequence[str]) -> tuple[str, ...]:
    """Return a sentence on the columns without declared categories or range, or ""."""
    if not columns:
        return ()
    sentence = (
        f"The categories or ranges of {first_few(map(repr, columns), _LISTED)} were not declared"
        " but read from the records. A category shows that somebody has it, and a range,"
        " although rounded, depends on the records."
    )
    return (sentence,)


def promised(tree: SharedTree, requirement: Requirement | None) -> Requirement | None:
    """Return the part of a requirement that a receiver can check by the tree's released counts.

    Hits and misses may be enough for the diversity by hits and misses, for k alone, or for neither.
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
    """Return sentences that the owner should read before a tree is released.

    They state what the paths meet and what they show (see `released_form`), or the epsilon of a
    private tree.
    """
    if epsilon is not None:
        bound = (
            "The whole tree, its splits and its counts, is differentially private with epsilon"
            f" {epsilon:g}. Replacing one record changes the probability of any tree by a factor"
            f" of at most e to the {epsilon:g}."
        )
        return (bound, *_PRIVATE)
    required = (UNPROTECTED,) if requirement is None else _required(requirement, classes)
    return (NO_BOUND, *required, _TOLD[tell], SUBTRACTION, STRUCTURE)


def _required(requirement: Requirement, classes: int) -> tuple[str, ...]:
    sentences = []
    if requirement.k is not None:
        sentences.append(f"Each path has at least {requirement.k:g} records (k-anonymity).")
    if requirement.c is None or requirement.l is None:
        return (*sentences, HOMOGENEOUS)
    by = (
        f"by exact counts, its most frequent class has less than {requirement.c:g} times the"
        f" records of classes {requirement.l} and later, by rank, together"
        if requirement.exact
        else f"by hits and misses, its class has less than {requirement.c:g} times the average of"
        f" {requirement.l - 1} other classes"
    )
    sentences.append(
        f"Each path is (c, l)-diverse with c = {requirement.c:g}, l = {requirement.l}: {by}."
    )
    return (*sentences, EVEN_MISSES) if not requirement.exact and classes > 2 else tuple(sentences)
