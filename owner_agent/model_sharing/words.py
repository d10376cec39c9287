"""What a shared tree promises and what it does not, in sentences that hold for how it was made."""

from __future__ import annotations

from owner_agent.site.sections.model_sharing import RequirementSection, ShareModelSection
from shared.model_sharing.anonymity.requirements import Requirement

NO_BOUND = (
    "A shared tree carries no gamma and no epsilon: nothing bounds what it tells of one record to"
    " somebody who knows the others."
)
SUBTRACTION = (
    "Two trees of tables that differ by one record give that record's path and class away, by"
    " subtracting their counts; the ledger refuses the second."
)
UNPROTECTED = (
    "Nothing is required of the paths of this tree: one may be of a single person, and tells the"
    " class of that person."
)


def protection(section: ShareModelSection, classes: int) -> tuple[str, ...]:
    """Return what a tree gives and what it does not: facts of how it is made, none of the table.

    Args:
        section: how it is made.
        classes: how many classes there are.
    """
    if section.private is not None:
        return _private(section.private.epsilon)
    said = [NO_BOUND]
    required = section.required
    said += [UNPROTECTED] if required is None else _required(required, classes)
    said.append(_told(section))
    said.append(SUBTRACTION)
    said.append(
        "Which splits there are was learned from the records, too. Thresholds are rounded, and lie"
        " between values of two records; ranges are declared or rounded, and are nobody's extremes."
    )
    return tuple(said)


def _private(epsilon: float) -> tuple[str, ...]:
    bound = (
        "The whole tree, its splits and its counts, is differentially private with epsilon"
        f" {epsilon:g}: replacing one record by any other changes the probability of no tree by"
        f" more than a factor of e to the {epsilon:g}."
    )
    adds = (
        "That holds whatever else anybody knows. Epsilons of releases of the same records add; the"
        " ledger adds them."
    )
    classes = "Each path tells how many of its records are of each class, with noise."
    declared = (
        "Ranges and categories are declared and were not read from the records. How many records"
        " there are is taken to be known."
    )
    general = (
        "What holds for most people on a path is told of each of them, whether they are in the"
        " table or not."
    )
    return bound, adds, classes, declared, general


def _required(section: RequirementSection, classes: int) -> list[str]:
    asked = section.required
    said = []
    if asked.k is not None:
        said.append(f"Each path is of at least {asked.k:g} records (k-anonymity).")
    if asked.c is None:
        said.append(
            "That does not hide classes: a path whose records are all of one class tells the class"
            " of everybody known to be on it. (c, l)-diversity is for that."
        )
        return said
    said.append(_diverse(asked))
    if not asked.exact and classes > 2:
        said.append(
            "Misses are taken to be spread evenly over other classes, and need not be: a path whose"
            " misses are all of one class can pass. The exact counts would show it."
        )
    return said


def _diverse(asked: Requirement) -> str:
    by = (
        "by the counts of all its classes, the most frequent one is less than"
        f" {asked.c:g} times all from number {asked.l} on together"
        if asked.exact
        else f"by hits and misses, its class is less than {asked.c:g} times the average of"
        f" {(asked.l or 2) - 1} others"
    )
    return f"Each path is (c, l)-diverse with c = {asked.c:g}, l = {asked.l}: {by}."


def _told(section: ShareModelSection) -> str:
    if section.tell == "distribution":
        return "Each path tells how many of its records are of each class, rare ones too."
    return (
        "Each path tells its class, how many of its records are of it and how many are not, and"
        " not which other classes there are."
    )
