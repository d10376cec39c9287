"""Trees that meet a requirement as they grow: only splits are taken whose parts all meet it.

A node meets it before it is split, and so do its parts, so that growth may stop anywhere. It stops
where splits tell no more than chance would: such a tree cannot go on until its leaves are of one
class, and splits of a mixture by chance predict worse than the mixture.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri

from shared.errors import RequirementUnmet
from shared.mixed.table import Floats
from shared.model_sharing.anonymity.requirements import SLACK, Requirement
from shared.model_sharing.core.conditions import Condition
from shared.model_sharing.core.tree import Leaf
from shared.model_sharing.growing.allowed import allowed, evidence, impurity
from shared.model_sharing.growing.offers import Choice, offered
from shared.model_sharing.growing.questions import Asked, Question
from shared.model_sharing.growing.records import Codes, Records

LEAST_GAIN = 1e-9
"""A split that lowers the impurity of a record by less than this tells nothing."""


def grow_required(
    records: Records,
    criterion: str,
    depth: int,
    min_leaf: int,
    chance: float,
    requirement: Requirement,
) -> Asked:
    """Return the tree of the best splits among those whose parts all meet a requirement.

    Raises:
        RequirementUnmet: all records together do not meet it, or no split does.
    """
    growth = _Growth(records, criterion, min_leaf, chance, requirement)
    everyone = np.arange(len(records))
    if not allowed(requirement, records.counts(everyone)[None, :])[0]:
        raise RequirementUnmet(
            "Not even all records together meet the requirement.",
            remedy="Ask for less (a smaller k or l, a larger c), or learn from more records.",
        )
    root = growth.node(everyone, records.everything(), depth)
    if not isinstance(root, Question):
        raise RequirementUnmet(
            "No split of the records has parts that all meet the requirement, and tells more of"
            " the class than chance would.",
            remedy="Ask for less (a smaller k or l, a larger c), or learn from more records.",
        )
    return root


@dataclass(frozen=True, eq=False)
class _Growth:
    records: Records
    criterion: str
    min_leaf: int
    chance: float
    requirement: Requirement

    def node(self, rows: Codes, box: dict[str, Condition], depth: int) -> Asked:
        """Return what is asked of the rows that reach a node, within the box that it is of."""
        counts = self.records.counts(rows)
        best = self._best(rows, counts, box) if depth and self._divisible(counts) else None
        if best is None:
            return Leaf.of(counts)
        name, (one, other), first = best
        return Question(
            name,
            (
                (one, self.node(rows[first], {**box, name: one}, depth - 1)),
                (other, self.node(rows[~first], {**box, name: other}, depth - 1)),
            ),
        )

    def _divisible(self, counts: Floats) -> bool:
        """Return whether a split could tell anything, and leave each side enough records."""
        fewest = max(self.min_leaf, self.requirement.k or 0)
        classes, records = int(np.count_nonzero(counts)), float(counts.sum())
        return classes > 1 and records >= 2 * fewest * (1 - SLACK)

    def _best(self, rows: Codes, counts: Floats, box: dict[str, Condition]) -> Choice | None:
        """Return the split that lowers impurity most, of those allowed; of a tie the first."""
        offers = [
            offer
            for name in self.records.schema.names
            if (offer := offered(self.records, name, box[name], rows)) is not None
        ]
        if not offers:
            return None
        gains = self._gains(np.concatenate([offer.parts for offer in offers]), counts)
        # Of gains that rounding alone parts, the first.
        best = int(np.argmax(gains >= gains.max() - LEAST_GAIN))
        if gains[best] == -np.inf:
            return None
        for offer in offers:
            if best < len(offer.parts):
                return offer.choice(best)
            best -= len(offer.parts)
        return None

    def _gains(self, parts: Floats, counts: Floats) -> Floats:
        """Return how much each split lowers impurity; minus infinity where it is not allowed.

        Args:
            parts: the counts of the classes on the first sides: splits x classes.
            counts: those of both sides together.
        """
        rest = counts - parts
        lowered = (
            impurity(counts[None, :], self.criterion)
            - impurity(parts, self.criterion)
            - impurity(rest, self.criterion)
        ) / counts.sum()
        fits = (parts.sum(axis=1) >= self.min_leaf) & (rest.sum(axis=1) >= self.min_leaf)
        fits &= lowered > LEAST_GAIN
        fits &= evidence(parts, counts) >= chdtri(np.count_nonzero(counts) - 1, self.chance)
        fits[fits] = allowed(self.requirement, parts[fits]) & allowed(self.requirement, rest[fits])
        return np.where(fits, lowered, -np.inf)
