"""Trees that meet a requirement as they grow: only splits are taken whose parts all meet it.

A node meets it before it is split, and so do its parts, so that growth may stop anywhere. It stops
where splits tell no more than chance would: such a tree cannot go on until its leaves are of one
class, and splits of a mixture by chance predict worse than the mixture.

The first split decides which mixtures are left to choose among, and the one that tells most by
itself is often one after which nothing more is allowed: nursery's health takes all records of one
class out, and what is mixed with them then tells at most half of its records rightly. So several
first splits are tried, each with all that grows below it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri

from pramana_core.errors import RequirementUnmet
from pramana_core.mixed.table import Floats
from pramana_core.model_sharing.anonymity.requirements import SLACK, Requirement
from pramana_core.model_sharing.core.conditions import Condition
from pramana_core.model_sharing.core.tree import Leaf
from pramana_core.model_sharing.growing.allowed import allowed, evidence, impurity
from pramana_core.model_sharing.growing.offers import Choice, Subsets, Thresholds, offered
from pramana_core.model_sharing.growing.questions import Asked, Question, leaves_of
from pramana_core.model_sharing.growing.records import Codes, Records
from pramana_core.ties import TIE, descending, first_largest, first_smallest

_NAT = 1.0
"""The scale of impurities: a gain rounds as the entropies do that it is made of."""

LEAST_GAIN = TIE * _NAT
"""A split that lowers the impurity of a record by less than this tells nothing."""


def grow_required(
    records: Records,
    criterion: str,
    depth: int,
    min_leaf: int,
    chance: float,
    requirement: Requirement,
    first_splits: int,
) -> Asked:
    """Return the tree of the best splits among those whose parts all meet a requirement.

    At the root, `first_splits` of each attribute are tried, and the one is taken whose whole
    tree lowers impurity most; of a tie the one that itself does. With 0 it is that one anyway.

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
    root = growth.root(everyone, records.everything(), depth, first_splits)
    if root is None:
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

    def root(
        self, rows: Codes, box: dict[str, Condition], depth: int, tried: int
    ) -> Question | None:
        """Return the best of the trees that begin with different splits; None if there is none."""
        counts = self.records.counts(rows)
        if not self._divisible(counts):
            return None
        if not tried:
            best = self._best(rows, counts, box)
            return None if best is None else self._split(best, rows, box, depth)
        offers, gains = self._offers(rows, counts, box)
        found: list[tuple[float, Choice]] = []
        for offer, gained in zip(offers, gains, strict=True):
            places = descending(gained, scale=_NAT).tolist()[:tried]
            fitting = [one for one in places if np.isfinite(gained[one])]
            found += [(float(gained[one]), offer.choice(one)) for one in fitting]
        order = descending([gain for gain, _ in found], scale=_NAT).tolist()
        grown = [self._split(found[place][1], rows, box, depth) for place in order]
        if not grown:
            return None
        return grown[first_smallest([self._left(one) for one in grown], scale=_NAT)]

    def node(self, rows: Codes, box: dict[str, Condition], depth: int) -> Asked:
        """Return what is asked of the rows that reach a node, within the box that it is of."""
        counts = self.records.counts(rows)
        best = self._best(rows, counts, box) if depth and self._divisible(counts) else None
        if best is None:
            return Leaf.of(counts)
        return self._split(best, rows, box, depth)

    def _split(
        self, choice: Choice, rows: Codes, box: dict[str, Condition], depth: int
    ) -> Question:
        name, (one, other), first = choice
        return Question(
            name,
            (
                (one, self.node(rows[first], {**box, name: one}, depth - 1)),
                (other, self.node(rows[~first], {**box, name: other}, depth - 1)),
            ),
        )

    def _left(self, grown: Question) -> float:
        """Return the impurity of all leaves of a tree."""
        counts = np.array([leaf.distribution for leaf in leaves_of(grown)])
        return float(impurity(counts, self.criterion).sum()) / len(self.records)

    def _divisible(self, counts: Floats) -> bool:
        """Return whether a split could tell anything, and leave each side enough records."""
        fewest = max(self.min_leaf, self.requirement.k or 0)
        classes, records = int(np.count_nonzero(counts)), float(counts.sum())
        return classes > 1 and records >= 2 * fewest * (1 - SLACK)

    def _best(self, rows: Codes, counts: Floats, box: dict[str, Condition]) -> Choice | None:
        """Return the split that lowers impurity most, of those allowed; of a tie the first."""
        offers, each = self._offers(rows, counts, box)
        if not offers:
            return None
        gains = np.concatenate(each)
        # Of gains that rounding alone parts, the first.
        best = first_largest(gains, scale=_NAT)
        if gains[best] == -np.inf:
            return None
        for offer in offers:
            if best < len(offer.parts):
                return offer.choice(best)
            best -= len(offer.parts)
        return None

    def _offers(
        self, rows: Codes, counts: Floats, box: dict[str, Condition]
    ) -> tuple[list[Thresholds | Subsets], list[Floats]]:
        """Return the splits of each attribute, and how much each lowers impurity."""
        offers = [
            offer
            for name in self.records.schema.names
            if (offer := offered(self.records, name, box[name], rows)) is not None
        ]
        if not offers:
            return [], []
        gains = self._gains(np.concatenate([offer.parts for offer in offers]), counts)
        ends = np.cumsum([len(offer.parts) for offer in offers])[:-1]
        return offers, np.split(gains, ends)

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
        least = chdtri(np.count_nonzero(counts) - 1, self.chance)
        fits &= evidence(parts, counts) >= (1 - TIE) * least
        fits[fits] = allowed(self.requirement, parts[fits]) & allowed(self.requirement, rest[fits])
        return np.where(fits, lowered, -np.inf)
