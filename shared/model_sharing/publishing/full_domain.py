"""Full-domain generalization: the levels at which records that look alike meet a requirement."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shared.errors import RequirementUnmet
from shared.mixed.table import MixedTable
from shared.model_sharing.anonymity.requirements import Requirement
from shared.model_sharing.core.tree import Leaf
from shared.model_sharing.publishing.hierarchies import Hierarchy

Counts = npt.NDArray[np.float64]
Levels = tuple[int, ...]

MOST_TABLES = 4_000
"""So many generalizations are looked at; where there are more, those of most hits first."""


@dataclass(frozen=True)
class Cells:
    """Records counted by their values at level 0: one row for each combination that occurs.

    Attributes:
        hierarchies: of the attributes.
        codes: the values of each combination, combinations x attributes.
        counts: its records by class, combinations x classes.
    """

    hierarchies: tuple[Hierarchy, ...]
    codes: npt.NDArray[np.intp]
    counts: Counts

    @classmethod
    def of(
        cls,
        hierarchies: Sequence[Hierarchy],
        records: MixedTable,
        classes: npt.NDArray[np.intp],
        number: int,
    ) -> Cells:
        """Return the cells of n records with their class codes."""
        base = np.stack([h.base(records[h.attribute.name]) for h in hierarchies], axis=1)
        codes, place = np.unique(base, axis=0, return_inverse=True)
        counts = np.zeros((len(codes), number))
        np.add.at(counts, (place.ravel(), classes), 1)
        return cls(tuple(hierarchies), codes, counts)

    def groups(self, levels: Sequence[int]) -> Counts:
        """Return the records of each group that looks alike at these levels: groups x classes."""
        key = np.zeros(len(self.codes), dtype=np.int64)
        for column, (hierarchy, level) in enumerate(zip(self.hierarchies, levels, strict=True)):
            key = key * len(hierarchy.categories(level)) + hierarchy.places(level)[
                self.codes[:, column]
            ]
            key = np.unique(key, return_inverse=True)[1].ravel()
        found = np.zeros((int(key.max(initial=-1)) + 1, self.counts.shape[1]))
        np.add.at(found, key, self.counts)
        return found


def all_meet(groups: Counts, requirement: Requirement) -> bool:
    """Return whether every group of records meets a requirement by its exact class counts."""
    return all(requirement.met_by(Leaf.of(counts)) for counts in groups)


@dataclass(frozen=True)
class Generalization:
    """Levels that meet a requirement.

    Attributes:
        levels: of each attribute, by name.
        hits: how many records are of their group's most frequent class.
        groups: how many groups there are.
        tables: how many generalizations were looked at.
    """

    levels: dict[str, int]
    hits: float
    groups: int
    tables: int


def best_levels(
    cells: Cells, requirement: Requirement, most: int = MOST_TABLES
) -> Generalization:
    """Return the generalization of most hits among those that meet a requirement.

    What meets it still does when generalized further (Machanavajjhala et al. 2006, theorem 5), so
    that the search goes down from the most general table and stops where the requirement fails.
    Tables are looked at in the order of their hits; with no more than `most` of them the best is
    found. It is told the classes, as no publisher without a miner's purpose would use them: the
    rival at its strongest.

    Raises:
        RequirementUnmet: not even all records together meet it.
    """
    top: Levels = tuple(h.height for h in cells.hierarchies)
    waiting: list[tuple[float, int, Levels]] = []
    seen = {top}
    best: tuple[float, int, Levels] | None = None
    size = 0

    def look(levels: Levels) -> None:
        nonlocal best, size
        groups = cells.groups(levels)
        if not all_meet(groups, requirement):
            return
        rank = (-float(groups.max(axis=1).sum()), sum(levels), levels)
        heapq.heappush(waiting, rank)
        if best is None or rank < best:
            best, size = rank, len(groups)

    look(top)
    while waiting and len(seen) < most:
        _, _, levels = heapq.heappop(waiting)
        for place, level in enumerate(levels):
            below = (*levels[:place], level - 1, *levels[place + 1 :])
            if level > 0 and below not in seen and len(seen) < most:
                seen.add(below)
                look(below)
    if best is None:
        raise RequirementUnmet(
            "Not even a table that tells nothing but the classes meets the requirement.",
            remedy="Ask for less: a smaller k or l, or a larger c.",
        )
    names = [h.attribute.name for h in cells.hierarchies]
    return Generalization(
        dict(zip(names, best[2], strict=True)), -best[0], size, len(seen)
    )
