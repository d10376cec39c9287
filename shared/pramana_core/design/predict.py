"""The errors a plan will have, before anything is drawn: exact for what they assume.

Two estimators are predicted. By moments, the variance of each estimated count follows from the
channels (design 4; Ma theorem 2). By the log-linear model, it is the inverse of the Fisher
information of the reports about the model's parameters, without shrinkage. Both are errors against
the population and assume that the variables are independent with the reference distributions. Both
fall with the square root of the records.

Also here:

* What is predicted of a plan's tables: their errors, and how much of an association is left.
* One family's plan for a need: what it is predicted to cost, and which estimator serves it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pramana_core import ties
from pramana_core.channels import CONDITION_LIMIT, Sampled, Transition
from pramana_core.design.goal import Goal
from pramana_core.errors import LimitExceeded, SingularChannel
from pramana_core.estimation.axes import Stratum
from pramana_core.estimation.loglinear import (
    DESIGN_ENTRIES,
    MAIN_VARIANCE,
    EffectMatrix,
    design,
    information,
    parameters,
)
from pramana_core.marginals.counts import MARGINAL_CELLS, Tensor
from pramana_core.plan import Plan
from pramana_core.privacy import Amplification
from pramana_core.ties import TIE, exceeds

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


SLOPES = 1 << 25
"""Reports times parameters of a prediction by the model; above it, sets are predicted alone."""

_NOTHING_HELD = 1e-13
"""Information below this share of the largest is rounding: that direction is not told at all."""

_STILL = 1e-15
"""A slope of less than this share of a table's largest is a sum that should have been zero."""

_NOT_MOVED = 1e-9
"""Share of a cell's squared slope that may lie in such directions; it is rounding too."""


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


def by_model(
    plan: Plan, goal: Goal, reference: Mapping[str, Tensor], records: int
) -> PredictedErrors:
    """Predict the errors of the log-linear model with interactions of `goal.order`.

    The model is over all variables where that is small enough, else over each table's alone; where
    one table is too large even then, none is predicted.
    """
    parts = _parts(plan, goal)
    squares: dict[tuple[str, ...], Tensor] = {}
    missing = ""
    try:
        seen = [_seen_through(plan, asked, goal.order) for asked, _ in parts]
    except (SingularChannel, LimitExceeded) as error:
        return replace(NOTHING, missing=error.message)
    known: dict[Hashable, Tensor] = {}
    for (variables, channels), (_, sets) in zip(seen, parts, strict=True):
        model = _model(variables, channels, goal.order, reference)
        for names in sets:
            # Tables of as many categories, under the same channels and shares, have equal errors.
            order = tuple(map(model.names.index, names))
            key = (model.channels, model.effects.shape, order, model.theta.tobytes())
            try:
                if key not in known:
                    known[key] = model.squares(names, goal, reference)
                squares[names] = known[key] / records
            except (SingularChannel, LimitExceeded) as error:
                missing = missing or error.message
    return summary(goal, reference, squares, missing)


def best_weights(
    plan: Plan, goal: Goal, reference: Mapping[str, Tensor], records: int
) -> Tensor | None:
    """Return probabilities of a sampled block's choices that make the predicted error smallest.

    The mean square error of the model (A-optimality) by the multiplicative algorithm (Silvey,
    Titterington and Torsney 1978), to within a thousandth; a tenth of the records is left spread
    equally, because the reference is not the truth. None where the plan has not one sampled block
    or the model is too large.
    """
    blocks = [b for b in plan.blocks if b.channel.choices]
    if len(blocks) != 1 or len(parts := _parts(plan, goal)) != 1:
        return None
    asked, sets = parts[0]
    model = _model(*_seen_through(plan, asked, goal.order), goal.order, reference)
    held_by = np.array(model.information_by_choice(plan.blocks.index(blocks[0])))
    wanted = np.zeros_like(held_by[0])
    lengths = goal.by_length()
    for names in sets:
        slopes = model.relative_slopes(names, goal, reference)
        wanted += slopes.T @ slopes / (len(slopes) * len(lengths[len(names)]))
    weights = np.full(len(held_by), 1 / len(held_by))
    prior = np.eye(len(wanted)) / MAIN_VARIANCE
    for _ in range(_ROUNDS):
        covariance = np.linalg.inv(records * np.tensordot(weights, held_by, 1) + prior)
        # How much a little more weight on a choice lowers the trace of wanted times covariance.
        gains = np.tensordot(held_by, covariance @ wanted @ covariance, 2)
        # No other weights can be better by more than this (the equivalence theorem of designs).
        if not exceeds(gains.max(), (1 + _CLOSE) * float(weights @ gains)):
            break
        weights = weights * np.sqrt(np.maximum(gains, 0))
        weights /= weights.sum()
    mixed: Tensor = 0.9 * weights + 0.1 / len(held_by)
    return mixed


_ROUNDS, _CLOSE = 200, 1e-3


@dataclass(frozen=True)
class _Model:
    """A log-linear model of some variables, at the reference, seen through their channels."""

    names: tuple[str, ...]
    effects: EffectMatrix
    theta: Tensor
    channels: tuple[Transition, ...]

    @functools.cached_property
    def slopes(self) -> Tensor:
        centred = self.effects.matrix - self.theta @ self.effects.matrix
        return np.asarray(self.theta[:, None] * centred, dtype=np.float64)

    def information_by_choice(self, place: int) -> list[Tensor]:
        """Return, for each choice of the sampled block at `place`, the information of one record

        that reports it.
        """
        sampled = self.channels[place]
        assert isinstance(sampled, Sampled)  # noqa: S101 - narrows the type
        before, after = self.channels[:place], self.channels[place + 1 :]
        shape = (math.prod(c.shape[0] for c in before), *sampled.sizes, -1)
        held = []
        for choice in sampled.choices:
            gone = tuple(1 + a for a in range(len(sampled.sizes)) if a not in choice.axes)
            slopes = self.slopes.reshape(*shape, self.slopes.shape[1]).sum(axis=gone)
            theta = self.theta.reshape(shape).sum(axis=gone).ravel()
            channels = (*before, choice.channel, *after)
            held.append(information_of_one(channels, slopes.reshape(len(theta), -1), theta))
        return held

    @functools.cached_property
    def _directions(self) -> tuple[Tensor, Tensor]:
        """Return the directions of the parameters that reports tell, and those they do not.

        The first are scaled to have information 1 of one record.
        """
        held = information_of_one(self.channels, self.slopes, self.theta)
        values, vectors = np.linalg.eigh(held)
        told = values > _NOTHING_HELD * values[-1]
        return vectors[:, told] / np.sqrt(values[told]), vectors[:, ~told]

    def squares(self, names: Sequence[str], goal: Goal, reference: Mapping[str, Tensor]) -> Tensor:
        """Return the relative variances of the wanted cells of a table, of one record.

        Raises:
            SingularChannel: they depend on interactions that the reports do not tell.
        """
        slopes = self.relative_slopes(names, goal, reference)
        told, untold = self._directions
        moved = np.abs(slopes).max(axis=0) > _STILL * np.abs(slopes).max()
        slopes, told, untold = slopes[:, moved], told[moved], untold[moved]
        lost = np.square(slopes @ untold).sum(axis=1)
        if np.any(lost > _NOT_MOVED * np.square(slopes).sum(axis=1)):
            raise SingularChannel(
                f"The reports do not tell the interactions of the {len(names)} variables"
                f" {list(names)}."
            )
        return np.asarray(np.square(slopes @ told).sum(axis=1), dtype=np.float64)

    def relative_slopes(
        self, names: Sequence[str], goal: Goal, reference: Mapping[str, Tensor]
    ) -> Tensor:
        """Return the derivatives of the wanted cells of a table, over their shares."""
        gone = tuple(i for i, n in enumerate(self.names) if n not in names)
        shape = self.effects.shape
        summed = self.slopes.reshape(*shape, -1).sum(axis=gone)
        left = [n for n in self.names if n in names]
        moved = np.transpose(summed, [*(left.index(n) for n in names), len(names)])
        wanted = wanted_cells(goal, names, reference)
        shares = shares_of(names, reference)[wanted]
        return np.asarray(moved[wanted] / shares[:, None], dtype=np.float64)


MODEL_CELLS = 4096
"""Over more cells the log-linear model takes longer than tables that are pooled are worth."""


def modelled_at_once(plan: Plan, goal: Goal) -> bool:
    """Whether the log-linear model of all variables at once is small enough to be fitted soon."""
    return len(_parts(plan, goal)) == 1


def _parts(plan: Plan, goal: Goal) -> list[tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]]:
    """Return which variables to model with which tables: all at once, or each table alone."""
    names = plan.domain.names
    reports = math.prod(math.prod(b.reported_shape) for b in plan.blocks)
    count = parameters(plan.domain.shape, min(goal.order, len(names)))
    size = plan.domain.size
    fits = size * count <= DESIGN_ENTRIES and reports * count <= SLOPES
    if size <= MODEL_CELLS and fits:
        return [(names, goal.sets)]
    return [(names, (names,)) for names in goal.sets]


def _model(
    names: tuple[str, ...],
    channels: tuple[Transition, ...],
    order: int,
    reference: Mapping[str, Tensor],
) -> _Model:
    shape = [len(reference[name]) for name in names]
    theta = shares_of(names, reference).ravel()
    return _Model(names, design(shape, min(order, len(names))), theta, channels)


def _seen_through(
    plan: Plan, asked: Sequence[str], order: int
) -> tuple[tuple[str, ...], tuple[Transition, ...]]:
    """Return the variables asked for in block order, and their blocks' channels.

    Raises:
        SingularChannel: a block's channel cannot be restricted to them, or is so close to saying
            nothing that the rounding of its probabilities decides what it says.
        LimitExceeded: the model, or the slopes of all reports, would be too large.
    """
    parts = _restricted(plan, asked)
    names = tuple(name for part, _ in parts for name in part)
    channels = tuple(channel for _, channel in parts)
    if any(map(says_nothing, channels)):
        raise SingularChannel(f"The reports say (almost) nothing about {list(names)}.")
    shape = [plan.domain[name].size for name in names]
    count = parameters(shape, min(order, len(names)))
    reports = math.prod(c.shape[1] for c in channels)
    if math.prod(shape) * count > DESIGN_ENTRIES or reports * count > SLOPES:
        raise LimitExceeded(
            f"{reports:,} kinds of report and {math.prod(shape):,} cells by {count:,} parameters"
            " are too many."
        )
    return names, channels


def says_nothing(channel: Transition) -> bool:
    """Whether a channel's reports are so alike that rounding decides what they say."""
    if channel.choices:
        return any(says_nothing(choice.channel) for choice in channel.choices)
    return channel.mixture is not None and channel.condition_number > CONDITION_LIMIT


def information_of_one(channels: tuple[Transition, ...], slopes: Tensor, theta: Tensor) -> Tensor:
    """Return the Fisher information of one record that is reported through some channels."""
    empty = Stratum(np.zeros([c.shape[1] for c in channels]), channels)
    return information([empty], slopes, theta, [1.0])


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
