"""Channels made of channels: groups of categories, and categories that cannot occur."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from pramana_core.marginals.counts import Tensor
from pramana_core.privacy.structures.prior import entropy, require_possible
from pramana_core.privacy.structures.structure import ChannelStructure, Plausible

Codes = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class GroupedStructure(ChannelStructure):
    """A block-diagonal channel: the report tells the group, and a part hides within it.

    `members[g]` are the categories of group g in the order its part takes them.
    """

    members: tuple[Codes, ...]
    parts: tuple[ChannelStructure, ...]

    @cached_property
    def size(self) -> int:
        return sum(len(codes) for codes in self.members)

    @cached_property
    def gamma(self) -> float:
        return self.parts[0].gamma if len(self.parts) == 1 else math.inf

    def information(self, prior: Tensor | None) -> float:
        shares, within = self._divide(prior)
        inside = sum(
            share * part.information(p)
            for share, part, p in zip(shares, self.parts, within, strict=True)
            if share > 0
        )
        return entropy(np.array(shares)) + inside

    def extremes(self, prior: Tensor | None) -> tuple[Tensor, Tensor]:
        shares, within = self._divide(prior)
        low, high = np.zeros(self.size), np.zeros(self.size)
        alone = np.count_nonzero(shares) == 1
        for share, codes, part, p in zip(shares, self.members, self.parts, within, strict=True):
            if share > 0:
                least, high[codes] = part.extremes(p)
                if alone:
                    # Otherwise the report of another group rules these categories out.
                    low[codes] = least
        return low, high

    def bayes_mass(self, weights: Tensor | None) -> float:
        given = self.uniform() if weights is None else weights
        pairs = zip(self.members, self.parts, strict=True)
        return sum(part.bayes_mass(given[codes]) for codes, part in pairs)

    def plausible(self, prior: Tensor | None, threshold: float) -> Plausible:
        shares, within = self._divide(prior)
        parts = zip(shares, self.parts, within, strict=True)
        return Plausible.over([part.plausible(p, threshold) for s, part, p in parts if s > 0])

    def uniform(self) -> Tensor:
        possible = np.zeros(self.size)
        for codes, part in zip(self.members, self.parts, strict=True):
            possible[codes] = part.uniform() > 0
        uniform: Tensor = possible / possible.sum()
        return uniform

    def _divide(self, prior: Tensor | None) -> tuple[list[float], list[Tensor | None]]:
        """Return the probability of each group and the prior within each."""
        given = self.uniform() if prior is None else prior
        shares = [float(given[codes].sum()) for codes in self.members]
        if prior is None:
            return shares, [None] * len(shares)
        pairs = zip(self.members, shares, strict=True)
        return shares, [prior[codes] / share if share else None for codes, share in pairs]


@dataclass(frozen=True)
class RevealedStructure(ChannelStructure):
    """One category alone, as in a group of one: once that is known nothing is left to hide."""

    @property
    def size(self) -> int:
        return 1

    @property
    def gamma(self) -> float:
        return 1.0

    def information(self, prior: Tensor | None) -> float:  # noqa: ARG002 - the interface's
        return 0.0

    def extremes(self, prior: Tensor | None) -> tuple[Tensor, Tensor]:  # noqa: ARG002
        return np.ones(1), np.ones(1)

    def bayes_mass(self, weights: Tensor | None) -> float:
        return 1.0 if weights is None else float(weights[0])

    def plausible(self, prior: Tensor | None, threshold: float) -> Plausible:  # noqa: ARG002
        return Plausible(int(threshold < 1), 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class PossibleStructure(ChannelStructure):
    """A channel over some of the categories; the others never occur, as truth or as report.

    Raises:
        OptionError: from each method, if a prior gives weight to an impossible category.
    """

    cells: int
    possible: Codes
    part: ChannelStructure

    @property
    def size(self) -> int:
        return self.cells

    @property
    def gamma(self) -> float:
        return self.part.gamma

    def information(self, prior: Tensor | None) -> float:
        return self.part.information(self._among(prior))

    def extremes(self, prior: Tensor | None) -> tuple[Tensor, Tensor]:
        low, high = np.zeros(self.cells), np.zeros(self.cells)
        low[self.possible], high[self.possible] = self.part.extremes(self._among(prior))
        return low, high

    def bayes_mass(self, weights: Tensor | None) -> float:
        return self.part.bayes_mass(self._among(weights))

    def plausible(self, prior: Tensor | None, threshold: float) -> Plausible:
        return self.part.plausible(self._among(prior), threshold)

    def uniform(self) -> Tensor:
        prior = np.zeros(self.cells)
        prior[self.possible] = self.part.uniform()
        return prior

    def _among(self, prior: Tensor | None) -> Tensor | None:
        if prior is None:
            return None
        can_be = np.zeros(self.cells, dtype=bool)
        can_be[self.possible] = True
        require_possible(prior, can_be)
        return prior[self.possible]
