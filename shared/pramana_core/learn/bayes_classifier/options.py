"""How a Bayesian network classifier is learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Le

from pramana_core.learn.common.options import Positive, require_limits

BayesModel = Literal["naive-bayes", "tan", "kdb", "auto"]

MOST_PARENTS = 4


@dataclass(frozen=True)
class BayesClassifierOptions:
    """How a Bayesian network classifier is learned.

    Args:
        model: on what an attribute depends besides the class: on nothing (`naive-bayes`); on one
            other attribute each but one, along the tree of the largest conditional mutual
            information (`tan`, Friedman, Geiger and Goldszmidt 1997, section 4); on up to
            `max_parents` of those that tell more of the class (`kdb`, Sahami 1996). `auto` is the
            tree without the links that do not earn what their parameters cost under the noise of
            the reports (AIC with that noise), which may be none: then it is naive Bayes. Where
            reports are randomized, attributes that repeat each other then count for less
            (`Repeated`).
        max_parents: the most attributes that one depends on, k of `kdb`.
        alpha: records added to every cell of a conditional distribution, each as uncertain as the
            reports: where these are noisy it counts for more.

    Raises:
        OptionError: an unknown model, or a number out of its range.
    """

    model: BayesModel = "auto"
    max_parents: Annotated[int, Ge(1), Le(MOST_PARENTS)] = 2
    alpha: Positive = 1.0

    def __post_init__(self) -> None:
        require_limits(self)
        object.__setattr__(self, "alpha", float(self.alpha))

    @property
    def depends_on(self) -> int:
        """The most attributes that one depends on besides the class."""
        return {"naive-bayes": 0, "kdb": self.max_parents}.get(self.model, 1)
