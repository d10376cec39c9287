"""One family's plan for a need: what it is predicted to cost, and which estimator serves it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pramana_core import ties
from pramana_core.design.predict import NOTHING, PredictedErrors
from pramana_core.plan import Plan
from pramana_core.privacy import Amplification


@dataclass(frozen=True)
class Option:
    """One family's plan and what it is predicted to cost.

    `plan` is None where the family cannot meet the requirements; `reason` says why. `estimator` is
    the one with the smallest predicted error; `pooled` is predicted of sampled sets, and alone
    where tables are many. `bound` is the least error that any unbiased estimator could have if no
    more variables interact than the goal says, `bound_any` if any may. `partly`: by moments tables
    are not told that learners may ask for besides those wanted.
    """

    family: str
    plan: Plan | None
    moments: PredictedErrors
    model: PredictedErrors
    reason: str = ""
    bound: PredictedErrors = NOTHING
    bound_any: PredictedErrors = NOTHING
    pooled: PredictedErrors = NOTHING
    partly: bool = False

    def efficiency(self, prediction: PredictedErrors | None = None) -> float | None:
        """Return the bound's share of an estimator's error; None where either is not known.

        The estimator is that of `prediction`, or the better one.
        """
        error = (prediction or self.prediction).score
        known = math.isfinite(error) and math.isfinite(self.bound.score)
        # Both are sums in another order: no more than rounding is above 1.
        return min(1.0, self.bound.score / error) if known else None

    @property
    def estimator(self) -> str:
        """`moment`, `log-linear` or `pooled`."""
        return self._best[0]

    @property
    def prediction(self) -> PredictedErrors:
        """The prediction of the best estimator."""
        return self._best[1]

    @property
    def _best(self) -> tuple[str, PredictedErrors]:
        # Those that suppose least first: the errors of a model are often those of the moments. But
        # an estimator that answers some questions only comes after those that answer all.
        named = [("log-linear", self.model), ("pooled", self.pooled)]
        last = self.partly and math.isfinite(min(self.model.score, self.pooled.score))
        named.insert(len(named) if last else 0, ("moment", self.moments))
        scores = [prediction.score for _, prediction in named]
        return named[ties.first_smallest(scores, tie=ties.FITTED_TIE)]

    @property
    def sets(self) -> int:
        """How many sets of variables a record reports one of."""
        return 0 if self.plan is None else max(len(b.channel.choices) for b in self.plan.blocks)

    @property
    def gamma(self) -> float:
        """The amplification of the whole record: the product over the randomized blocks."""
        if self.plan is None:
            return math.nan
        return Amplification.together(
            b for b in self.plan.blocks if not b.channel.is_identity
        ).gamma
