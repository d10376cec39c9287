"""Trees that meet a requirement as they grow: only splits are taken whose parts all meet it.

A node meets it before it is split, and so do its parts, so that growth may stop anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shared.errors import RequirementUnmet
from shared.mixed.table import Floats
from shared.model_sharing.anonymity.requirements import Requirement
from shared.model_sharing.core.conditions import Condition, Interval, Values
from shared.model_sharing.growing.allowed import allowed, impurity
from shared.model_sharing.growing.questions import Asked, Question, apart, halves
from shared.model_sharing.growing.records import Codes, Records
from shared.model_sharing.growing.subsets import subsets

LEAST_GAIN = 1e-9
"""A split that lowers the impurity of a record by less than this tells nothing."""


def grow_required(
    records: Records, criterion: str, depth: int, min_leaf: int, requirement: Requirement
) -> Asked:
    """Return the tree of the best splits among those whose parts all meet a requirement.

    Raises:
        RequirementUnmet: all records together do not meet it, or no split does.
    """
    growth = _Growth(records, criterion, min_leaf, requirement)
    everyone = np.arange(len(records))
    if not allowed(requirement, records.counts(everyone)[None, :])[0]:
        raise RequirementUnmet(
            "Not even all records together meet the requirement.",
            remedy="Ask for less (a smaller k or l, a larger c), or learn from more records.",
        )
    root = growth.node(everyone, records.everything(), depth)
    if not isinstance(root, Question):
        raise RequirementUnmet(
            "No split of the records has parts that all meet the requirement, and tells anything"
            " of the class.",
            remedy="Ask for less (a smaller k or l, a larger c), or learn from more records.",
        )
    return root


@dataclass(frozen=True, eq=False)
class _Best:
    """A question, how much it lowers impurity, and which of the rows are on its first side."""

    gain: float
    name: str
    sides: tuple[Condition, Condition]
    first: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class _Growth:
    records: Records
    criterion: str
    min_leaf: int
    requirement: Requirement

    def node(self, rows: Codes, box: dict[str, Condition], depth: int) -> Asked:
        """Return what is asked of the rows that reach a node, within the box that it is of."""
        counts = self.records.counts(rows)
        best = self._best(rows, counts, box) if depth and np.count_nonzero(counts) > 1 else None
        if best is None:
            return self.records.leaf(rows)
        (one, other), name = best.sides, best.name
        return Question(
            name,
            (
                (one, self.node(rows[best.first], {**box, name: one}, depth - 1)),
                (other, self.node(rows[~best.first], {**box, name: other}, depth - 1)),
            ),
        )

    def _best(self, rows: Codes, counts: Floats, box: dict[str, Condition]) -> _Best | None:
        found: _Best | None = None
        for name in self.records.schema.names:
            extent = box[name]
            if isinstance(extent, Interval):
                one = self._number(name, rows, counts, extent)
            else:
                one = self._category(name, rows, counts, extent)
            if one is not None and (found is None or one.gain > found.gain + LEAST_GAIN):
                found = one
        return found

    def _gains(self, parts: Floats, counts: Floats) -> Floats:
        """Return how much each split lowers impurity; minus infinity where it is not allowed.

        Args:
            parts: the counts of the classes on the first sides: splits x classes.
            counts: those of both sides together.
        """
        rest = counts - parts
        total = counts.sum()
        lowered = (
            impurity(counts[None, :], self.criterion)
            - impurity(parts, self.criterion)
            - impurity(rest, self.criterion)
        ) / total
        fits = (parts.sum(axis=1) >= self.min_leaf) & (rest.sum(axis=1) >= self.min_leaf)
        fits &= lowered > LEAST_GAIN
        fits[fits] = allowed(self.requirement, parts[fits]) & allowed(self.requirement, rest[fits])
        return np.where(fits, lowered, -np.inf)

    def _number(self, name: str, rows: Codes, counts: Floats, extent: Interval) -> _Best | None:
        ranks = self.records.codes[name][rows]
        order = np.argsort(ranks)
        ordered = ranks[order]
        ends = np.flatnonzero(ordered[1:] > ordered[:-1])
        if not len(ends):
            return None
        ordered_classes = self.records.classes[rows[order]]
        parts = np.column_stack(
            [np.cumsum(ordered_classes == code)[ends] for code in range(len(counts))]
        ).astype(np.float64)
        gains = self._gains(parts, counts)
        best = int(np.argmax(gains))
        if gains[best] == -np.inf:
            return None
        left, right = int(ordered[ends[best]]), int(ordered[ends[best] + 1])
        sides = halves(extent, self.records.threshold(name, left, right))
        return _Best(float(gains[best]), name, sides, ranks <= left)

    def _category(self, name: str, rows: Codes, counts: Floats, extent: Values) -> _Best | None:
        codes = self.records.codes[name][rows]
        size, classes = extent.codes[-1] + 1, len(counts)
        joint = np.bincount(codes * classes + self.records.classes[rows], minlength=size * classes)
        table = joint.reshape(-1, classes).astype(np.float64)
        present = np.flatnonzero(table.sum(axis=1))
        if len(present) < 2:
            return None
        chosen = subsets(table[present])
        parts = chosen @ table[present]
        gains = self._gains(parts, counts)
        best = int(np.argmax(gains))
        if gains[best] == -np.inf:
            return None
        inside = set(present[chosen[best] > 0].tolist())
        if parts[best].sum() > counts.sum() / 2:
            # What no record here has goes with the larger side.
            inside |= set(extent.codes) - set(present.tolist())
        sides = apart(extent, inside)
        return _Best(float(gains[best]), name, sides, np.isin(codes, sides[0].codes))
