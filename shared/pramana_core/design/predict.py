"""The errors a plan will have, before anything is drawn: exact for what they assume.

By moments, the variance of each estimated count follows from the channels (design 4; Ma theorem 2).
Errors are those against the population, and assume that the variables are independent with the
reference distributions. They fall with the square root of the records.

Also here:

* What is predicted of a plan's tables: their errors, and how much of an association is left.
* One family's plan for a need: what it is predicted to cost, and which estimator serves it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pramana_core import ties
from pramana_core.channels import CONDITION_LIMIT, Transition
from pramana_core.design.goal import Goal
from pramana_core.errors import LimitExceeded, SingularChannel
from pramana_core.marginals.counts import MARGINAL_CELLS, Tensor
from pramana_core.plan import Plan
from pramana_core.privacy import Amplification
from pramana_core.ties import TIE

# What is predicted of a plan's tables: their errors, and how much of an association is left.

MODERATE = 0.09
"""Mean squared relative deviation of a moderate association: Cohen's w = 0.3 (1988, 7.2.3)."""


@dataclass(frozen=True)
class PredictedErrors:
    """Mean relative standard errors of the wanted cells, by the number of variables of the table.

    Lengths of which the reports cannot tell every table are left out. `score` is the root of the
    mean square over the lengths, infinite where one is left out; `missing` then says why.

    `loss` is what designs are compared by: one minus the mean over tables of the correlation
    between an association as it is estimated and as it is, (1 + v / w^2)^(-1/2). There v is the
    mean relative variance of a table's cells and w^2 the mean squared relative deviation of cells
    from independence where an association is moderate (`MODERATE`). It grows as v does where v is
    small, and hardly any more where a table is hopeless. `kept` is the mean of its square: how much
    of a moderate association is left where noise is shrunk away.
    `noise` has each table's share in what counts and its v / w^2.
    """

    by_length: Mapping[int, float]
    score: float
    missing: str = ""
    loss: float = math.inf
    noise: Mapping[tuple[str, ...], tuple[float, float]] = field(default_factory=dict, repr=False)

    @property
    def kept(self) -> float:
        """How much of a moderate association is left, from 0 to 1."""
        return self.kept_with(1.0)

    def kept_with(self, factor: float) -> float:
        """Return the same with so many times the records."""
        return math.fsum(share / (1 + noise / factor) for share, noise in self.noise.values())


NOTHING = PredictedErrors({}, math.inf)


def wanted_cells(
    goal: Goal, names: Sequence[str], reference: Mapping[str, Tensor]
) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Return which cells of a table count: those above the minimum support, or its largest."""
    shares = shares_of(names, reference)
    wanted = (shares >= (1 - TIE) * goal.minimum_support) & (shares > 0)
    if not wanted.any():
        wanted = shares >= (1 - TIE) * shares.max()
    return np.asarray(wanted)


def shares_of(names: Sequence[str], reference: Mapping[str, Tensor]) -> Tensor:
    made = functools.reduce(np.multiply.outer, (reference[n] for n in names))
    return np.asarray(made, dtype=np.float64)


def summary(
    goal: Goal,
    reference: Mapping[str, Tensor],
    squares: Mapping[tuple[str, ...], Tensor],
    missing: str,
) -> PredictedErrors:
    """Return the errors of tables from the relative variances of their cells that count."""
    by_length = {}
    for length, sets in goal.by_length().items():
        if all(names in squares for names in sets):
            each = [np.sqrt(squares[names]) for names in sets]
            by_length[length] = float(sum(map(np.sum, each)) / sum(map(np.size, each)))
    means = {names: float(np.mean(each)) for names, each in squares.items()}
    known = len(by_length) == len(goal.by_length())
    noise = {
        n: (goal.shares[n], m * counted(goal, n, reference) / MODERATE) for n, m in means.items()
    }
    if not known:
        return PredictedErrors(by_length, math.inf, missing, math.inf, noise)
    score = math.sqrt(math.fsum(goal.shares[n] * m for n, m in means.items()))
    loss = 1 - math.fsum(share / math.sqrt(1 + each) for share, each in noise.values())
    return PredictedErrors(by_length, score, missing, loss, noise)


def counted(goal: Goal, names: Sequence[str], reference: Mapping[str, Tensor]) -> float:
    """Return by what a table's squared errors count less: none is larger than the support's.

    Cells whose expected share is below the minimum support count only where they turn out to be as
    frequent as that; the error is then relative to the support.
    """
    largest = math.prod(float(reference[name].max()) for name in names)
    if not goal.minimum_support:
        return 1.0
    share = min(1.0, largest / goal.minimum_support)
    return share * share


def by_moments(
    plan: Plan, goal: Goal, reference: Mapping[str, Tensor], records: int
) -> PredictedErrors:
    """Predict the errors of moment estimates: each table from the reports of its own variables."""
    squares: dict[tuple[str, ...], Tensor] = {}
    missing = ""
    for names in goal.sets:
        try:
            errors = _moment_errors(plan, names, reference, records)
        except (SingularChannel, LimitExceeded) as error:
            missing = missing or error.message
        else:
            squares[names] = np.square(errors[wanted_cells(goal, names, reference)])
    return summary(goal, reference, squares, missing)


def told_by_moments(plan: Plan, count: int) -> bool:
    """Whether the reports tell by moments, in principle, every table of `count` variables.

    Sampled sets tell only what lies within one of them, and cut and paste no more variables
    together than it keeps items.
    """
    return all(
        min(count, len(block.names)) <= block.together
        and (count < 2 or not block.channel.choices or block.reports_together(block.names))
        for block in plan.blocks
    )


def says_nothing(channel: Transition) -> bool:
    """Whether a channel's reports are so alike that rounding decides what they say."""
    if channel.choices:
        return any(says_nothing(choice.channel) for choice in channel.choices)
    return channel.mixture is not None and channel.condition_number > CONDITION_LIMIT


def _restricted(plan: Plan, asked: Sequence[str]) -> list[tuple[tuple[str, ...], Transition]]:
    """Return, per block, which asked variables it holds and their channel."""
    parts = []
    for block in plan.blocks:
        names = tuple(name for name in block.names if name in asked)
        if names:
            channel = block.restrict(names)
            if channel is None:
                raise SingularChannel(f"Block {block.name!r} cannot be restricted to {names}.")
            parts.append((names, channel))
    return parts


def _moment_errors(
    plan: Plan, names: Sequence[str], reference: Mapping[str, Tensor], records: int
) -> Tensor:
    """Return the relative standard error of each cell's moment estimate, in the order of `names`.

    The estimator of a cell is a product over blocks, and so, the blocks being independent, is its
    mean square; its square mean is the cell's share.
    """
    parts = _restricted(plan, names)
    reports = math.prod(channel.shape[1] for _, channel in parts)
    if reports > MARGINAL_CELLS:
        raise LimitExceeded(
            f"The reports of {list(names)} have {reports:,} cells; {MARGINAL_CELLS:,} are counted."
        )
    found: list[str] = []
    second = np.ones(())
    for part, channel in parts:
        squares = channel.mean_squares(shares_of(part, reference))
        second = np.multiply.outer(second, squares)
        found += part
    second = np.transpose(second, [found.index(name) for name in names])
    shares = shares_of(names, reference)
    variance = np.maximum(second - np.square(shares), 0) / records
    infinite = np.full(shares.shape, np.inf)
    squares = np.divide(variance, np.square(shares), out=infinite, where=shares > 0)
    return np.asarray(np.sqrt(squares), dtype=np.float64)


@dataclass(frozen=True)
class Option:
    """One family's plan and what it is predicted to cost.

    `plan` is None where the family cannot meet the requirements; `reason` says why. `estimator` is
    the one with the smallest predicted error; `pooled` is predicted of channels that keep a record
    or lose it, and alone where tables are many. `bound` is the least error that any unbiased
    estimator could have if no more variables interact than the goal says. `partly`: by moments
    tables are not told that learners may ask for besides those wanted.
    """

    family: str
    plan: Plan | None
    moments: PredictedErrors
    reason: str = ""
    bound: PredictedErrors = NOTHING
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
        """`moment` or `pooled`."""
        return self._best[0]

    @property
    def prediction(self) -> PredictedErrors:
        """The prediction of the best estimator."""
        return self._best[1]

    @property
    def _best(self) -> tuple[str, PredictedErrors]:
        # That which supposes least first, but for one that answers some questions only.
        named = [("moment", self.moments), ("pooled", self.pooled)]
        if self.partly and math.isfinite(self.pooled.score):
            named.reverse()
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
