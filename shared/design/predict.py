"""The errors a plan will have, before anything is drawn: exact for what they assume.

Two estimators are predicted. By moments, the variance of each estimated count follows from the
channels (design 4; Ma theorem 2). By the log-linear model, it is the inverse of the Fisher
information of the reports about the model's parameters, without shrinkage. Both are errors against
the population and assume that the variables are independent with the reference distributions.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from shared.counts import Tensor
from shared.design.goal import Goal
from shared.errors import LimitExceeded, SingularChannel
from shared.inversion import Stratum
from shared.loglinear import DESIGN_ENTRIES, MAIN_VARIANCE, Design, design, information, parameters
from shared.plan import Plan
from shared.transition import RESOLUTION, Sampled, Transition

SLOPES = 1 << 25
"""Reports times parameters of a prediction by the model; above it, sets are predicted alone."""


@dataclass(frozen=True)
class Prediction:
    """Mean relative standard errors of the wanted cells, by the number of variables of the table.

    Lengths of which the reports cannot tell every table are left out. `score` is the root of the
    mean square over the lengths, infinite where one is left out.
    """

    by_length: Mapping[int, float]
    score: float

    def at(self, factor: float) -> Prediction:
        """Return the prediction for `factor` times as many records."""
        root = math.sqrt(factor)
        return Prediction({k: e / root for k, e in self.by_length.items()}, self.score / root)


NOTHING = Prediction({}, math.inf)


def by_moments(plan: Plan, goal: Goal, reference: Mapping[str, Tensor], records: int) -> Prediction:
    """Predict the errors of moment estimates: each table from the reports of its own variables."""
    squares: dict[tuple[str, ...], Tensor] = {}
    for names in goal.sets:
        with contextlib.suppress(SingularChannel, LimitExceeded):
            errors = _moment_errors(plan, names, reference, records)
            squares[names] = np.square(errors[wanted_cells(goal, names, reference)])
    return _summary(goal, squares)


def by_model(plan: Plan, goal: Goal, reference: Mapping[str, Tensor], records: int) -> Prediction:
    """Predict the errors of the log-linear model with interactions of `goal.order`.

    The model is over all variables where that is small enough, else over each table's alone.
    """
    squares: dict[tuple[str, ...], Tensor] = {}
    for asked, sets in _parts(plan, goal):
        with contextlib.suppress(SingularChannel, LimitExceeded, np.linalg.LinAlgError):
            model = _model(plan, asked, sets, goal.order, reference)
            covariance = model.covariance(records)
            for names in sets:
                slopes = model.relative_slopes(names, goal, reference)
                squares[names] = ((slopes @ covariance) * slopes).sum(axis=1)
    return _summary(goal, squares)


def best_weights(
    plan: Plan, goal: Goal, reference: Mapping[str, Tensor], records: int
) -> Tensor | None:
    """Return probabilities of a sampled block's choices that make the predicted error smallest.

    The mean square error of the model (A-optimality) by the multiplicative algorithm (Silvey,
    Titterington and Torsney 1978); a tenth of the records is left spread equally, because the
    reference is not the truth. None where the plan has not one sampled block or the model is too
    large.
    """
    blocks = [b for b in plan.blocks if isinstance(b.channel, Sampled)]
    parts = _parts(plan, goal)
    if len(blocks) != 1 or len(parts) != 1:
        return None
    (asked, sets), channel = parts[0], blocks[0].channel
    assert isinstance(channel, Sampled)  # noqa: S101 - narrows the type
    model = _model(plan, asked, sets, goal.order, reference)
    place = plan.blocks.index(blocks[0])
    held_by = np.array(
        [model.information_of(place, _only(channel, i)) for i in range(len(channel.choices))]
    )
    wanted = np.zeros_like(held_by[0])
    lengths = goal.by_length()
    for names in model.sets:
        slopes = model.relative_slopes(names, goal, reference)
        wanted += slopes.T @ slopes / (len(slopes) * len(lengths[len(names)]))
    weights = np.full(len(held_by), 1 / len(held_by))
    prior = np.eye(len(wanted)) / MAIN_VARIANCE
    for _ in range(_ROUNDS):
        held = np.einsum("s,sde->de", weights, held_by)
        covariance = np.linalg.inv(records * held + prior)
        # How much a little more weight on a choice lowers the trace of wanted times covariance.
        gains = np.einsum("de,sed->s", covariance @ wanted @ covariance, held_by)
        weights = weights * np.sqrt(np.maximum(gains, 0))
        weights /= weights.sum()
    mixed: Tensor = 0.9 * weights + 0.1 / len(held_by)
    return mixed


_ROUNDS = 25


@dataclass(frozen=True)
class _Model:
    """A log-linear model of some variables, at the reference, seen through their channels."""

    names: tuple[str, ...]
    sets: tuple[tuple[str, ...], ...]
    effects: Design
    theta: Tensor
    channels: tuple[Transition, ...]

    @functools.cached_property
    def slopes(self) -> Tensor:
        centred = self.effects.matrix - self.theta @ self.effects.matrix
        return np.asarray(self.theta[:, None] * centred, dtype=np.float64)

    def information_of(self, place: int, channel: Transition) -> Tensor:
        """Return the information of one record if the channel at `place` were another one."""
        channels = (*self.channels[:place], channel, *self.channels[place + 1 :])
        empty = Stratum(np.zeros([c.shape[1] for c in channels]), channels)
        return information([empty], self.slopes, self.theta, [1.0])

    def covariance(self, records: int) -> Tensor:
        held = self.information_of(0, self.channels[0])
        prior = np.eye(len(held)) / MAIN_VARIANCE
        return np.asarray(np.linalg.inv(records * held + prior), dtype=np.float64)

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
        shares = _shares(names, reference)[wanted]
        return np.asarray(moved[wanted] / shares[:, None], dtype=np.float64)


def _parts(plan: Plan, goal: Goal) -> list[tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]]:
    """Return which variables to model with which tables: all at once, or each table alone."""
    names = plan.domain.names
    reports = math.prod(math.prod(b.reported_shape) for b in plan.blocks)
    count = parameters(plan.domain.shape, min(goal.order, len(names)))
    if plan.domain.size * count <= DESIGN_ENTRIES and reports * count <= SLOPES:
        return [(names, goal.sets)]
    return [(names, (names,)) for names in goal.sets]


def _model(
    plan: Plan,
    asked: Sequence[str],
    sets: tuple[tuple[str, ...], ...],
    order: int,
    reference: Mapping[str, Tensor],
) -> _Model:
    parts = _restricted(plan, asked)
    names = tuple(name for part, _ in parts for name in part)
    order = min(order, len(names))
    shape = [len(reference[name]) for name in names]
    channels = tuple(channel for _, channel in parts)
    if math.prod(c.shape[1] for c in channels) * parameters(shape, order) > SLOPES:
        raise LimitExceeded("The reports are too many to predict the model's errors.")
    theta = _shares(names, reference).ravel()
    return _Model(names, sets, design(shape, order), theta, channels)


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
    found: list[str] = []
    second = np.ones(())
    for part, channel in _restricted(plan, names):
        law = channel.apply(_shares(part, reference).ravel(), 0)
        squares = channel.solve_squared(law, 0).reshape([len(reference[n]) for n in part])
        second = np.multiply.outer(second, squares)
        found += part
    second = np.transpose(second, [found.index(name) for name in names])
    shares = _shares(names, reference)
    variance = np.maximum(second - np.square(shares), 0) / records
    infinite = np.full(shares.shape, np.inf)
    squares = np.divide(variance, np.square(shares), out=infinite, where=shares > 0)
    return np.asarray(np.sqrt(squares), dtype=np.float64)


def wanted_cells(
    goal: Goal, names: Sequence[str], reference: Mapping[str, Tensor]
) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Return which cells of a table count: those above the minimum support, or its largest."""
    shares = _shares(names, reference)
    wanted = (shares >= goal.minimum_support) & (shares > 0)
    if not wanted.any():
        wanted = shares == shares.max()
    return np.asarray(wanted)


def _shares(names: Sequence[str], reference: Mapping[str, Tensor]) -> Tensor:
    made = functools.reduce(np.multiply.outer, (reference[n] for n in names))
    return np.asarray(made, dtype=np.float64)


def _summary(goal: Goal, squares: Mapping[tuple[str, ...], Tensor]) -> Prediction:
    by_length, means = {}, list[float]()
    for length, sets in goal.by_length().items():
        if all(names in squares for names in sets):
            each = np.concatenate([squares[names] for names in sets])
            by_length[length] = float(np.sqrt(each).mean())
            means.append(float(np.mean([squares[names].mean() for names in sets])))
    known = len(means) == len(goal.by_length())
    return Prediction(by_length, math.sqrt(math.fsum(means) / len(means)) if known else math.inf)


def _only(channel: Sampled, index: int) -> Sampled:
    """Return the channel as if one choice were always taken."""
    return Sampled(channel.sizes, (replace(channel.choices[index], weight=RESOLUTION),))
