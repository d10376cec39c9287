"""How trees of several owners are combined: names, limits and defaults, loaded in no time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le

from pramana_core.learn.common.options import Seed, require_effect, require_limits

Method = Literal["pgen", "basegen", "labelled", "votes"]
GlobalName = Literal["tree", "naive-bayes", "conjunctive"]

MOST_DEPTH = 100
"""Trees deeper than this are refused: functions that walk through them recurse as deep."""

MOST_PSEUDO_RECORDS = 10_000_000
"""More are not drawn: a tree may count as many records as it likes."""

_DRAWN = ("pgen", "basegen", "labelled")


@dataclass(frozen=True)
class CombineOptions:
    """How the trees of several owners become one model.

    Attributes:
        method: "pgen" and "basegen" learn `model` from all trees' pseudo-data (sections 2.2, 4);
            "labelled" from pseudo-data that the votes of all trees label; "votes" are the trees
            themselves. "labelled" gives any kind of model, and of those the nearest to what all
            records together would give (docs/model-sharing.md has the figures).
        model: what is learned from pseudo-data.
        pseudo_records: their number; None for as many as the trees count.
        scale: a factor on the trees' counts, if no number is given.
        max_depth: the most questions on a path of a learned tree; None for any.
        min_leaf: the fewest pseudo-records of a leaf, and of either side of a conjunctive rule.
        seed: of the pseudo-data.

    Raises:
        OptionError: an unknown method or model, a number out of its range, or an option without
            effect.
    """

    method: Method = "labelled"
    model: GlobalName = "tree"
    pseudo_records: Annotated[int, Ge(1), Le(MOST_PSEUDO_RECORDS)] | None = None
    scale: Annotated[float, Gt(0), Le(1000)] = 1.0
    max_depth: Annotated[int, Ge(1), Le(MOST_DEPTH)] | None = None
    min_leaf: Annotated[int, Ge(1), Le(1_000_000)] = 1
    seed: Seed = 0

    def __post_init__(self) -> None:
        require_limits(self)
        drawn = dict.fromkeys(("model", "pseudo_records", "scale"), _DRAWN)
        require_effect(self, "method", self.method, **drawn)
        learned = self.model if self.draws else self.method
        require_effect(
            self, "model", learned, max_depth=("tree",), min_leaf=("tree", "conjunctive")
        )
        if self.pseudo_records is not None:
            require_effect(self, "pseudo_records", str(self.pseudo_records), scale=())

    @property
    def draws(self) -> bool:
        """Whether pseudo-data are drawn."""
        return self.method in _DRAWN
