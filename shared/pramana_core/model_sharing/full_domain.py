"""Full-domain generalization: the levels at which records that look alike meet a requirement."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from pramana_core.errors import RequirementUnmet
from pramana_core.mixed.table import MixedTable
from pramana_core.model_sharing.hierarchies import Hierarchy
from pramana_core.model_sharing.requirements import Requirement

Counts = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]
Levels = tuple[int, ...]

MOST_TABLES = 4_000
"""So many generalizations are looked at; where there are more, those of most hits first."""

_DENSE = 4_000_000
"""Counts over so many combinations of names are made without sorting the records first."""


@dataclass(frozen=True)
class Groups:
    """What a requirement may ask of the groups of records that look alike.

    Attributes:
        number: how many groups there are.
        smallest: the fewest records of a group.
        hits: how many records are of their group's most frequent class.
        ratios: for l = 1, 2, ...: the largest d_1 / (d_l + d_(l+1) + ...) of a group, d_1 >= d_2
            >= ... its class counts; infinite where a group has fewer than l classes.
    """

    number: int
    smallest: float
    hits: float
    ratios: tuple[float, ...]

    @classmethod
    def of(cls, counts: Counts) -> Groups:
        """Return what there is to ask of groups x classes counts, none of them empty."""
        ranked = -np.sort(-counts, axis=1)
        tails = np.cumsum(ranked[:, ::-1], axis=1)[:, ::-1]
        first = np.broadcast_to(ranked[:, :1], tails.shape)
        ratios = np.divide(first, tails, out=np.full(tails.shape, math.inf), where=tails > 0)
        return cls(
            len(counts),
            float(counts.sum(axis=1).min()),
            float(ranked[:, 0].sum()),
            tuple(map(float, ratios.max(axis=0))),
        )

    def meet(self, requirement: Requirement) -> bool:
        """Return whether each group meets a requirement by its exact class counts."""
        if requirement.k is not None and self.smallest < requirement.k:
            return False
        if requirement.c is None or requirement.l is None:
            return True
        known = requirement.l <= len(self.ratios)
        return known and self.ratios[requirement.l - 1] < requirement.c


@dataclass(frozen=True)
class Cells:
    """Records counted by their values at level 0 and their class.

    Attributes:
        hierarchies: of the attributes.
        codes: the values and, last, the class of each combination that occurs.
        counts: how many records have it.
        classes: how many classes there are.
    """

    hierarchies: tuple[Hierarchy, ...]
    codes: Codes
    counts: Counts
    classes: int
    _known: dict[Levels, Groups] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(
        cls, hierarchies: Sequence[Hierarchy], records: MixedTable, classes: Codes, number: int
    ) -> Cells:
        """Return the cells of n records with their class codes."""
        columns = [h.base(records[h.attribute.name]) for h in hierarchies]
        codes, counts = np.unique(np.stack([*columns, classes], axis=1), axis=0, return_counts=True)
        return cls(tuple(hierarchies), codes, counts.astype(np.float64), number)

    def class_counts(self, levels: Sequence[int]) -> Counts:
        """Return the records of each group that looks alike at these levels: groups x classes."""
        key, size = np.zeros(len(self.codes), dtype=np.int64), 1
        for column, (hierarchy, level) in enumerate(zip(self.hierarchies, levels, strict=True)):
            names = len(hierarchy.categories(level))
            key = key * names + hierarchy.places(level)[self.codes[:, column]]
            size *= names
            if size * self.classes > _DENSE:
                found, key = np.unique(key, return_inverse=True)
                key, size = key.ravel(), len(found)
        cell = key * self.classes + self.codes[:, -1]
        flat = np.zeros(size * self.classes, dtype=np.float64)
        np.add.at(flat, cell, self.counts)
        table = flat.reshape(size, self.classes)
        return table[table.any(axis=1)]

    def groups(self, levels: Sequence[int]) -> Groups:
        """Return what there is to ask of the groups at these levels; kept for the next time."""
        key = tuple(levels)
        if key not in self._known:
            self._known[key] = Groups.of(self.class_counts(key))
        return self._known[key]


@dataclass(frozen=True)
class Generalization:
    """Levels that meet a requirement.

    Attributes:
        levels: of each attribute, by name.
        groups: what the table then has.
        tables: how many generalizations were looked at.
    """

    levels: dict[str, int]
    groups: Groups
    tables: int


def best_levels(cells: Cells, requirement: Requirement, most: int = MOST_TABLES) -> Generalization:
    """Return the generalization of most hits among those that meet a requirement.

    What meets it still does when generalized further (Machanavajjhala et al. 2006), so that the
    search goes down from the most general table and stops where the requirement fails. Tables are
    looked at in the order of their hits; where there are no more than `most` the best is found. It
    is chosen by how well the classes can be told, which is what it is then measured by: the rival
    at its strongest.

    Raises:
        RequirementUnmet: not even all records together meet it.
    """
    top: Levels = tuple(h.height for h in cells.hierarchies)
    waiting: list[tuple[float, int, Levels]] = []
    seen = {top}
    best: tuple[float, int, Levels] | None = None

    def look(levels: Levels) -> None:
        nonlocal best
        groups = cells.groups(levels)
        if groups.meet(requirement):
            rank = (-groups.hits, sum(levels), levels)
            heapq.heappush(waiting, rank)
            best = rank if best is None else min(best, rank)

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
    return Generalization(dict(zip(names, best[2], strict=True)), cells.groups(best[2]), len(seen))
