"""Trees of the best splits among those whose parts all meet a requirement.

Growth stops where splits are not significant. The first split decides which mixtures of classes
remain, and after the best first split often no further split is allowed. Therefore several first
splits are tried, each with the tree below it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import chdtri

from pramana_core.errors import RequirementUnmet
from pramana_core.mixed import Floats
from pramana_core.model_sharing.conditions import Condition
from pramana_core.model_sharing.offers import (
    Codes,
    OfferedSplit,
    Records,
    Subsets,
    Thresholds,
    entropy,
    offered,
)
from pramana_core.model_sharing.requirements import SLACK, Requirement
from pramana_core.model_sharing.tree import Leaf, Node, Split, leaves_below
from pramana_core.ties import TIE, descending, first_largest, first_smallest


def allowed(requirement: Requirement, counts: Floats) -> npt.NDArray[np.bool_]:
    """Return whether each of m parts, as a leaf, meets a requirement (`met_by`).

    `counts` is m x classes.
    """
    records = counts.sum(axis=1)
    met = np.ones(len(counts), dtype=bool)
    if requirement.k is not None:
        met &= records >= requirement.k * (1 - SLACK)
    if requirement.c is None or requirement.l is None:
        return met
    most = counts.max(axis=1)
    if requirement.exact:
        rest = np.sort(counts, axis=1)[:, : max(counts.shape[1] - requirement.l + 1, 0)].sum(axis=1)
    else:
        rest = (records - most) / (requirement.l - 1)
        met &= records - most >= (requirement.l - 1) * (1 - SLACK)
    found: npt.NDArray[np.bool_] = met & (most < requirement.c * rest * (1 - SLACK))
    return found


def evidence(parts: Floats, counts: Floats) -> Floats:
    """Return twice the log likelihood ratio of each split against no split (Wilks 1938).

    `parts` has the class counts of the first sides, splits x classes. `counts` has the class counts
    of both sides together.
    """
    whole = entropy(counts[None, :])
    return 2 * (whole - entropy(parts) - entropy(counts - parts))


_NAT = 1.0
"""The scale of rounding errors: the error of a gain is that of the entropies subtracted."""

LEAST_GAIN = TIE * _NAT
"""The minimum decrease of a record's entropy by a split."""


def grow_required(records: Records, depth: int, min_leaf: int, requirement: Requirement) -> Node:
    """Return a tree of the best splits among those whose parts all meet a requirement.

    Several first splits are tried (`_first_splits`); the tree with the least entropy wins. Raises
    RequirementUnmet.
    """
    growth = _Growth(records, min_leaf, requirement)
    everyone = np.arange(len(records))
    if not allowed(requirement, records.counts(everyone)[None, :])[0]:
        raise RequirementUnmet(
            "Even all records together do not meet the requirement.",
            remedy="Require less (a smaller k or l, a larger c), or learn from more records.",
        )
    root = growth.root(everyone, records.everything(), depth, _first_splits(records, requirement))
    if root is None:
        raise RequirementUnmet(
            "No split whose parts all meet the requirement explains the class significantly better"
            " than chance.",
            remedy="Require less (a smaller k or l, a larger c), or learn from more records.",
        )
    return root


@dataclass(frozen=True, eq=False)
class _Growth:
    records: Records
    min_leaf: int
    requirement: Requirement

    def root(self, rows: Codes, box: dict[str, Condition], depth: int, tried: int) -> Split | None:
        counts = self.records.counts(rows)
        if not self._divisible(counts):
            return None
        if not tried:
            best = self._best(rows, counts, box)
            return None if best is None else self._split(best, rows, box, depth)
        offers, gains = self._offers(rows, counts, box)
        found: list[tuple[float, OfferedSplit]] = []
        for offer, gained in zip(offers, gains, strict=True):
            places = descending(gained, scale=_NAT).tolist()[:tried]
            fitting = [one for one in places if np.isfinite(gained[one])]
            found += [(float(gained[one]), offer.choice(one)) for one in fitting]
        order = descending([gain for gain, _ in found], scale=_NAT).tolist()
        grown = [self._split(found[place][1], rows, box, depth) for place in order]
        if not grown:
            return None
        return grown[first_smallest([self._left(one) for one in grown], scale=_NAT)]

    def node(self, rows: Codes, box: dict[str, Condition], depth: int) -> Node:
        counts = self.records.counts(rows)
        best = self._best(rows, counts, box) if depth and self._divisible(counts) else None
        if best is None:
            return Leaf.of(counts)
        return self._split(best, rows, box, depth)

    def _split(
        self, choice: OfferedSplit, rows: Codes, box: dict[str, Condition], depth: int
    ) -> Split:
        name, (one, other), first = choice
        return Split(
            name,
            (
                (one, self.node(rows[first], {**box, name: one}, depth - 1)),
                (other, self.node(rows[~first], {**box, name: other}, depth - 1)),
            ),
        )

    def _left(self, grown: Split) -> float:
        counts = np.array([leaf.distribution for leaf in leaves_below(grown)])
        return float(entropy(counts).sum()) / len(self.records)

    def _divisible(self, counts: Floats) -> bool:
        fewest = max(self.min_leaf, self.requirement.k or 0)
        classes, records = int(np.count_nonzero(counts)), float(counts.sum())
        return classes > 1 and records >= 2 * fewest * (1 - SLACK)

    def _best(self, rows: Codes, counts: Floats, box: dict[str, Condition]) -> OfferedSplit | None:
        offers, each = self._offers(rows, counts, box)
        if not offers:
            return None
        gains = np.concatenate(each)
        # Gains that differ only by rounding are a tie, and the first wins.
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
        """Return by how much each split lowers the entropy; minus infinity if it is not allowed."""
        rest = counts - parts
        lowered = (entropy(counts[None, :]) - entropy(parts) - entropy(rest)) / counts.sum()
        fits = (parts.sum(axis=1) >= self.min_leaf) & (rest.sum(axis=1) >= self.min_leaf)
        fits &= lowered > LEAST_GAIN
        least = chdtri(np.count_nonzero(counts) - 1, _CHANCE)
        fits &= evidence(parts, counts) >= (1 - TIE) * least
        fits[fits] = allowed(self.requirement, parts[fits]) & allowed(self.requirement, rest[fits])
        return np.where(fits, lowered, -np.inf)


_CHANCE = 0.01
"""The significance level of a split."""

_FIRST_SPLITS, _MOST_TRIED = 3, 300_000
"""Limits on first splits: the maximum for each attribute, and for records x attributes x splits."""


def _first_splits(records: Records, requirement: Requirement) -> int:
    """Return how many first splits of each attribute to try; 0 means only the best of all."""
    if requirement.c is None or not requirement.exact:
        return 0
    return min(_FIRST_SPLITS, _MOST_TRIED // (len(records) * len(records.schema.names)))
