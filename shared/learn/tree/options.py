"""How a decision tree is grown and pruned."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from shared.errors import OptionError

Criterion = Literal["gain", "gain-ratio"]


@dataclass(frozen=True)
class TreeOptions:
    """How far a tree grows, and what its leaves say.

    `TreeOptions(significance=None, least_records=0, prune=False, shrinkage=None)` is ID3 as in
    Ma 7.2. The default gives a small tree of splits that are beyond chance. For predictions alone
    `TreeOptions(significance=None, prune=False)` can be better where the class depends strongly on
    the attributes: its leaves are many, and what they say is only as bold as the noise allows.

    Args:
        criterion: `gain` splits by the attribute that tells most of the class; `gain-ratio`
            divides by what the attribute tells of itself, among those with at least average gain.
        max_depth: the most attributes asked on a path; None is all.
        significance: a node is split if chance alone would show its best attribute's gain in no
            more than this share of cases; None, or 1, splits until nothing is gained.
        least_records: a node that tells less of the class than so many records that are not
            randomized is not split.
        prune: take back splits that do not earn what it costs to describe them.
        shrinkage: how far a child's class probabilities usually are from its parent's (Euclidean
            distance; the scale of a prior with a heavy tail). The noisier a child's are, and the
            less its siblings differ, the more of the parent's they take. None takes none.

    Raises:
        OptionError: an option outside its range.
    """

    criterion: Criterion = "gain"
    max_depth: int | None = None
    significance: float | None = 0.05
    least_records: float = 10.0
    prune: bool = True
    shrinkage: float | None = 0.1

    def __post_init__(self) -> None:
        if self.criterion not in ("gain", "gain-ratio"):
            raise OptionError(
                f"There is no criterion {self.criterion!r}.",
                where="criterion",
                remedy="Choose 'gain' or 'gain-ratio'.",
            )
        if self.max_depth is not None and self.max_depth < 0:
            raise OptionError(
                f"max_depth must be 0 or more, not {self.max_depth}.", where="max_depth"
            )
        if self.significance is not None and not 0 < self.significance <= 1:
            raise OptionError(
                f"significance must be above 0 and at most 1, not {self.significance}.",
                where="significance",
                remedy="Give a share of cases such as 0.05, or none to split without a test.",
            )
        if not (math.isfinite(self.least_records) and self.least_records >= 0):
            raise OptionError(
                "least_records must be a finite number of 0 or more.", where="least_records"
            )
        if self.shrinkage is not None and not (
            math.isfinite(self.shrinkage) and self.shrinkage > 0
        ):
            raise OptionError(
                "shrinkage must be a finite number above 0.",
                where="shrinkage",
                remedy="Give none to take every leaf's own estimate.",
            )
        # One form of each number, so that equal options are written alike.
        for name in ("significance", "least_records", "shrinkage"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else float(value))

    @property
    def limit(self) -> float | None:
        """The greatest p-value of a split; None where there is no test."""
        return None if self.significance == 1 else self.significance
