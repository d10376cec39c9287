"""Predicted errors of a plan's tables, by moments and by pooling, before any data exist.

The variables are assumed independent and uniform. Errors are against the population.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pramana_core import ties
from pramana_core.channels import Transition
from pramana_core.design.goal import Goal
from pramana_core.domain import Domain
from pramana_core.errors import LimitExceeded, SingularChannel
from pramana_core.marginals.counts import MARGINAL_CELLS
from pramana_core.plan import Plan
from pramana_core.privacy import Amplification

MODERATE = 0.09
"""The mean squared relative deviation of a moderate association, w = 0.3 (Cohen 1988, 7.2.3)."""


@dataclass(frozen=True)
class PredictedErrors:
    """Mean relative standard errors of table cells, by the number of variables of the table.

    `score` is the root mean square over the table lengths; it is infinite if a table cannot be
    estimated, for the reason `missing`. `loss` is used to rank designs. It is one minus the mean
    correlation of estimated and true associations, (1 + v / w^2)^(-1/2), where v is the relative
    variance of a table's cells and w^2 is `MODERATE`. `kept` is the mean squared correlation.
    `noise` has the weight and v / w^2 of each table.
    """

    by_length: Mapping[int, float]
    score: float
    missing: str = ""
    loss: float = math.inf
    noise: Mapping[tuple[str, ...], tuple[float, float]] = field(default_factory=dict, repr=False)

    @property
    def kept(self) -> float:
        """The share of a moderate association that remains despite noise, from 0 to 1."""
        return self.kept_with(1.0)

    def kept_with(self, factor: float) -> float:
        """Return the value that `kept` would have with `factor` times as many records."""
        return math.fsum(share / (1 + noise / factor) for share, noise in self.noise.values())


UNPREDICTED = PredictedErrors({}, math.inf)


def summary(
    goal: Goal, domain: Domain, variances: Mapping[tuple[str, ...], float], missing: str
) -> PredictedErrors:
    """Return the predicted errors of a goal, from the relative variance of a cell of each table."""
    by_length = {}
    for length, sets in goal.by_length().items():
        if all(names in variances for names in sets):
            cells = [cells_of(domain, names) for names in sets]
            each = (
                math.sqrt(variances[names]) * size for names, size in zip(sets, cells, strict=True)
            )
            by_length[length] = math.fsum(each) / sum(cells)
    noise = {
        n: (goal.shares[n], v * discount(goal, domain, n) / MODERATE) for n, v in variances.items()
    }
    if len(by_length) < len(goal.by_length()):
        return PredictedErrors(by_length, math.inf, missing, math.inf, noise)
    score = math.sqrt(math.fsum(goal.shares[n] * v for n, v in variances.items()))
    loss = 1 - math.fsum(share / math.sqrt(1 + each) for share, each in noise.values())
    return PredictedErrors(by_length, score, missing, loss, noise)


def discount(goal: Goal, domain: Domain, names: Sequence[str]) -> float:
    """Return the factor for a table's squared errors in the loss.

    Errors are relative to the minimum support if the expected share of a cell is below it.
    """
    if not goal.minimum_support:
        return 1.0
    share = min(1.0, 1 / cells_of(domain, names) / goal.minimum_support)
    return share * share


def cells_of(domain: Domain, names: Sequence[str]) -> int:
    return math.prod(domain[name].size for name in names)


def by_moments(plan: Plan, goal: Goal, records: int) -> PredictedErrors:
    """Return the predicted errors of moment estimates, from reports of a table's variables."""
    variances: dict[tuple[str, ...], float] = {}
    missing = ""
    for names in goal.sets:
        try:
            variances[names] = _moment_variance(plan, names) / records
        except (SingularChannel, LimitExceeded) as error:
            missing = missing or error.message
    return summary(goal, plan.domain, variances, missing)


def _moment_variance(plan: Plan, names: Sequence[str]) -> float:
    parts = _restricted(plan, names)
    reports = math.prod(channel.shape[1] for channel in parts)
    if reports > MARGINAL_CELLS:
        raise LimitExceeded(
            f"The reports of {list(names)} have {reports:,} cells, more than {MARGINAL_CELLS:,}."
        )
    second = 1.0
    for channel in parts:
        second *= channel.uniform_mean_square * channel.shape[0] ** 2
    return max(second - 1, 0.0)


def _restricted(plan: Plan, wanted: Sequence[str]) -> list[Transition]:
    parts = []
    for block in plan.blocks:
        names = tuple(name for name in block.names if name in wanted)
        if names:
            channel = block.restrict(names)
            if channel is None:
                raise SingularChannel(f"Block {block.name!r} cannot be restricted to {names}.")
            parts.append(channel)
    return parts


def estimable_by_moments(plan: Plan, count: int) -> bool:
    """Return whether the moment estimator can estimate every table of `count` variables.

    Sampled sets allow only tables within one set. Cut and paste allows tables with at most as many
    variables as the number of items that it keeps.
    """
    return all(
        min(count, len(block.names)) <= block.together
        and (count < 2 or not block.channel.choices or block.reports_together(block.names))
        for block in plan.blocks
    )


@dataclass(frozen=True)
class Option:
    """The plan of one family, and its predicted errors.

    `plan` is None if the family cannot meet the requirements; `reason` says why. `partly` means
    that the moment estimator cannot estimate all other tables that learners may need. `built_for`
    is the gamma for which the family built the plan; rounding can give the plan a smaller one.
    """

    family: str
    plan: Plan | None
    moments: PredictedErrors
    reason: str = ""
    pooled: PredictedErrors = UNPREDICTED
    partly: bool = False
    built_for: float = math.nan

    @property
    def able(self) -> bool:
        """Whether the plan can serve all wanted tables."""
        return math.isfinite(self.prediction.score)

    @property
    def estimator(self) -> str:
        """The estimator with the smallest predicted error: `moment` or `pooled`."""
        return self._best[0]

    @property
    def prediction(self) -> PredictedErrors:
        """The prediction for the estimator with the smallest predicted error."""
        return self._best[1]

    @property
    def _best(self) -> tuple[str, PredictedErrors]:
        # In case of ties the estimator that assumes less, unless it cannot estimate all tables.
        named = [("moment", self.moments), ("pooled", self.pooled)]
        if self.partly and math.isfinite(self.pooled.score):
            named.reverse()
        scores = [prediction.score for _, prediction in named]
        return named[ties.first_smallest(scores, tie=ties.FITTED_TIE)]

    @property
    def sets(self) -> int:
        """The largest number of sets of a block. A record reports one of the block's sets."""
        return 0 if self.plan is None else max(len(b.channel.choices) for b in self.plan.blocks)

    @property
    def gamma(self) -> float:
        """The amplification of the whole record, the product over the randomized blocks."""
        if self.plan is None:
            return math.nan
        return Amplification.together(
            b for b in self.plan.blocks if not b.channel.is_identity
        ).gamma
