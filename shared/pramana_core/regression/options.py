"""How a regression is fitted: names, limits and defaults, once for all who take them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Le

from pramana_core.learn.common.options import InnerShare, Seed, require_effect, require_limits

ModelName = Literal["linear", "polynomial", "kernel", "tree"]


@dataclass(frozen=True)
class RegressionOptions:
    """How a regression is fitted.

    Args:
        model: `linear` and `polynomial` are least squares on the columns and on their powers;
            `kernel` is kernel ridge regression, for relationships of any smooth shape; `tree` is a
            regression tree, which asks one column at a time.
        degree: the highest power of a numeric column, of `polynomial`.
        max_depth: the most questions on a path of a `tree`.
        min_leaf: the fewest records of each copy in a leaf of a `tree`.
        confidence: that of all intervals.
        seed: decides which records are the landmarks of `kernel` and which are left out together
            when a model is judged by records that it was not fitted to.

    Raises:
        OptionError: an unknown name, or a number out of its range.
    """

    model: ModelName = "linear"
    degree: Annotated[int, Ge(2), Le(6)] = 2
    max_depth: Annotated[int, Ge(1), Le(12)] = 4
    min_leaf: Annotated[int, Ge(5), Le(1_000_000)] = 20
    confidence: InnerShare = 0.95
    seed: Seed = 0

    def __post_init__(self) -> None:
        require_limits(self)
        powers, tree = ("polynomial",), ("tree",)
        require_effect(
            self,
            "model",
            self.model,
            degree=powers,
            max_depth=tree,
            min_leaf=tree,
        )
