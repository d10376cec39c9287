"""How a decision tree is grown and pruned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Le

from pramana_core.learn.common.options import NotNegative, Share, require_limits

Criterion = Literal["gain", "gain-ratio"]

DEEPEST = 256
"""No path of a tree asks more questions."""


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
        least_records: a node is not split if it holds less information about the class than so
            many unrandomized records.
        prune: undo splits that do not pay for their own description length.
        shrinkage: how far a child's class probabilities usually are from its parent's (Euclidean
            distance; the scale of a prior with a heavy tail). The noisier a child's are, and the
            less its siblings differ, the more of the parent's they take. None, or 0, takes none.

    Raises:
        OptionError: an option outside its range.
    """

    criterion: Criterion = "gain"
    max_depth: Annotated[int, Ge(0), Le(DEEPEST)] | None = None
    significance: Share | None = 0.05
    least_records: NotNegative = 10.0
    prune: bool = True
    shrinkage: NotNegative | None = 0.1

    def __post_init__(self) -> None:
        require_limits(self)
        # One form of each number, so that equal options are written alike.
        for name in ("significance", "least_records", "shrinkage"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else float(value))
        object.__setattr__(self, "shrinkage", self.shrinkage or None)

    @property
    def limit(self) -> float | None:
        """The greatest p-value of a split; None where there is no test."""
        return None if self.significance == 1 else self.significance
