"""Options for combining the trees of several owners. Importing this module is fast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le

from pramana_core.learn.common.options import Seed, require_effect, require_limits

Method = Literal["pgen", "basegen", "labelled", "votes"]
GlobalName = Literal["tree", "naive-bayes", "conjunctive"]

MOST_DEPTH = 100
"""The maximum depth of a tree; functions that walk through a tree recurse as deeply."""

MOST_PSEUDO_RECORDS = 10_000_000
"""The maximum number of pseudo-records, limited because a tree may claim any number of records."""

_DRAWN = ("pgen", "basegen", "labelled")


@dataclass(frozen=True)
class CombineOptions:
    """How to combine the trees of several owners into one model.

    Attributes:
        method: "pgen" and "basegen" learn `model` from all trees' pseudo-data (sections 2.2, 4);
            "labelled" learns `model` from pseudo-data that all trees label by their votes; "votes"
            combines the trees themselves. "labelled" supports any kind of model, and its result is
            nearest to a model of all records together (docs/model-sharing.md has the results).
        model: the kind of model learned from pseudo-data.
        pseudo_records: the number of pseudo-records, or None for as many as the trees' records.
        scale: a factor for the number of records in the trees, if `pseudo_records` is None.
        max_depth: the maximum number of questions on a path of a tree, or None for no limit.
        min_leaf: the minimum number of pseudo-records in a leaf, and on each side of a rule.
        seed: the seed of the pseudo-data.

    Raises:
        OptionError: the method or model is unknown, or an option is out of range or has no effect.
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
        """Whether the method draws pseudo-data from the trees."""
        return self.method in _DRAWN
