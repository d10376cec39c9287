"""The limit of randomization: the least error that any unbiased estimator could have (Ma 8 (e)).

Ma leaves the theoretical limit of the randomization method as a question. For a plan it is the
bound of Cramer and Rao: no unbiased estimator of a cell's share has a variance below s' J^-1 s / N,
J the Fisher information of one record's report about the law of the records and s the slopes of the
cell. Nothing but the channels and the law enters, so that what is left between it and an
estimator's error is the estimator's, and the rest is the randomization's and the sampling's.

At a law of independent variables (as all predictions here assume) every change of it that leaves
the sum 1 is a sum over sets S of variables of products of functions of single variables with mean
0. A report of some variables T tells the sets within T and is orthogonal to the others, and blocks
that are randomized apart multiply: J falls apart by the blocks that a change reaches, and is a
product over these. So the cells of all variables are never listed. With interactions of at most
some order only such S are allowed; then one block at most may have several variables.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

from pramana_core.channels import RESOLUTION, Transition
from pramana_core.design.goal import Goal
from pramana_core.design.predict import (
    PredictedErrors,
    says_nothing,
    summary,
    wanted_cells,
)
from pramana_core.errors import LimitExceeded, SingularChannel
from pramana_core.estimation.axes import Stratum
from pramana_core.marginals.counts import Tensor
from pramana_core.plan import Block, Plan

MOST_PARAMETERS = 1024
"""Of a block with more parameters it is not computed: their information is a matrix."""

_ENTRIES = 1 << 22
"""Nor where cells or reports times parameters, or cells times reports, are more."""

_FEW = 1 << 14
"""Slopes of so few entries are kept: many sets of a plan have the same variables left of them."""

_NOTHING_HELD = 1e-13
"""Parameters are scaled so that a clean record tells 1 of each; less than this is rounding."""

_NOT_MOVED = 1e-9
"""Share of a cell's squared slope that may lie in directions that are not told."""

_Places = dict[tuple[str, ...], npt.NDArray[np.intp]]


def bound(
    plan: Plan, goal: Goal, reference: Mapping[str, Tensor], records: int, order: int | None = None
) -> PredictedErrors:
    """Return the least errors that unbiased estimators could have, as `by_moments` returns theirs.

    Args:
        plan: what is reported.
        goal: the tables.
        reference: the law, by variable.
        records: how many.
        order: the most variables that interact; None is all, so that nothing is assumed.

    Returns:
        The errors; `missing` says where there is no unbiased estimator, or the bound is too large
        to be computed.
    """
    squares, missing = least_squares(plan, goal, reference, records, order)
    return summary(goal, reference, squares, missing)


def least_squares(
    plan: Plan, goal: Goal, reference: Mapping[str, Tensor], records: int, order: int | None = None
) -> tuple[dict[tuple[str, ...], Tensor], str]:
    """Return the least relative variances of each table's cells that count; what is not told."""
    most = len(plan.domain.names) if order is None else order
    blocks = [_BlockInformation.of(block, reference) for block in plan.blocks]
    squares: dict[tuple[str, ...], Tensor] = {}
    missing = ""
    for names in goal.sets:
        try:
            relative = _relative(blocks, names, most)
        except (SingularChannel, LimitExceeded) as error:
            missing = missing or error.message
        else:
            squares[names] = relative[wanted_cells(goal, names, reference)] / records
    return squares, missing


def _relative(blocks: Sequence[_BlockInformation], names: Sequence[str], order: int) -> Tensor:
    """Return the relative variance of each cell of a table, of one record, in the table's shape."""
    asked = [(block, tuple(n for n in block.names if n in names)) for block in blocks]
    several = [(block, part) for block, part in asked if len(block.names) > 1 and part]
    free = sum(map(len, (block.names for block in blocks))) <= order
    if len(several) > 1 and not free:
        raise LimitExceeded(
            f"{len(several)} joint blocks share the interactions of up to {order} variables: the"
            " bound is computed for one of them."
        )
    # By number of blocks that a change reaches, of those with one variable: all of the products.
    reached = [np.ones(())]
    found: list[str] = []
    for block, part in asked:
        if part and len(block.names) == 1:
            own, rows = block.squares(part, 1), [*reached, np.zeros(reached[0].shape)]
            before = [np.zeros(reached[0].shape), *reached]
            made = [
                np.add.outer(row, np.zeros(own.shape)) + np.multiply.outer(less, own)
                for row, less in zip(rows, before, strict=True)
            ]
            reached = made[: order + 1]
            found += part
    for block, part in several:
        each = [
            np.multiply.outer(row, 1 + block.squares(part, len(block.names) if free else order - j))
            for j, row in enumerate(reached)
        ]
        reached = each
        found += part
    total: Tensor = np.sum(reached, axis=0) - 1
    return np.transpose(total, [found.index(name) for name in names])


@dataclass(frozen=True)
class _Part:
    """What some records report: which variables of a block, through which channel, how often."""

    names: tuple[str, ...]
    channel: Transition
    weight: float


@dataclass(frozen=True)
class _BlockInformation:
    """What the reports of a block tell of changes of the law of its variables.

    `functions` are, by variable, functions with mean 0 that are orthonormal under its law, a row
    for each category; none differs on categories that never occur.
    """

    block: Block
    parts: tuple[_Part, ...]
    shares: Mapping[str, Tensor]
    functions: Mapping[str, Tensor]
    _known: dict[tuple[tuple[str, ...], int], Tensor] = field(default_factory=dict)
    _counted: dict[int, _Places] = field(default_factory=dict)
    _directions: dict[int, tuple[Tensor, Tensor]] = field(default_factory=dict)
    _sloping: dict[tuple[tuple[str, ...], tuple[tuple[str, ...], ...]], Tensor] = field(
        default_factory=dict
    )

    @classmethod
    def of(cls, block: Block, reference: Mapping[str, Tensor]) -> _BlockInformation:
        channel = block.channel
        parts = [
            _Part(tuple(block.names[a] for a in c.axes), c.channel, c.weight / RESOLUTION)
            for c in channel.choices
        ] or [_Part(block.names, channel, 1.0)]
        shares = {name: reference[name] for name in block.names}
        return cls(block, tuple(parts), shares, {n: _functions(s) for n, s in shares.items()})

    @property
    def names(self) -> tuple[str, ...]:
        return self.block.names

    def squares(self, asked: tuple[str, ...], order: int) -> Tensor:
        """Return the relative variance of each cell over some variables, of one record."""
        if order < 1:
            return np.zeros([len(self.shares[name]) for name in asked])
        key = (asked, min(order, len(self.names)))
        if key not in self._known:
            exact = self._by_moments(asked) if key[1] == len(self.names) else None
            self._known[key] = self._by_information(*key) if exact is None else exact
        return self._known[key]

    def _by_moments(self, asked: tuple[str, ...]) -> Tensor | None:
        """Return the variances by moments where these are the bound: of an invertible channel.

        As many reports as truths tell the law of the truths no better than their frequencies do; a
        margin's estimate is the sum of its cells' where the channel can be restricted to it.
        """
        channel = self.block.restrict(asked)
        square = self.block.channel.shape[0] == self.block.channel.shape[1]
        shares = functools.reduce(np.multiply.outer, (self.shares[n] for n in asked))
        usable = channel is not None and square and not self.block.channel.choices
        if channel is None or not usable or says_nothing(channel) or np.min(shares) <= 0:
            return None
        return np.asarray(channel.mean_squares(shares) / np.square(shares) - 1, dtype=np.float64)

    def _by_information(self, asked: tuple[str, ...], order: int) -> Tensor:
        told, untold = self._solved(order)
        places = self._places(order)
        within = self._free(asked, order)
        if not within:
            # Nothing can change: no category but one ever occurs.
            return np.zeros([len(self.shares[name]) for name in asked])
        if not all(one in places for one in within):
            raise _untold(asked)
        shape = [len(self.shares[name]) for name in asked]
        if math.prod(shape) * len(told) > _ENTRIES:
            raise _too_large(asked, math.prod(shape), len(told))
        slopes, rows = self._slopes(asked, within), _joined(places, within)
        if untold.shape[1]:
            lost = np.square(slopes @ untold[rows]).sum(axis=1)
            if np.any(lost > _NOT_MOVED * np.square(slopes).sum(axis=1)):
                raise _untold(asked)
        variances = np.square(slopes @ told[rows]).sum(axis=1)
        return np.asarray(variances.reshape(shape), dtype=np.float64)

    def _places(self, order: int) -> _Places:
        """Return the parameters of each set of variables whose interaction some record reports.

        Raises LimitExceeded for too many.
        """
        if order not in self._counted:
            places: _Places = {}
            count = 0
            for size in range(1, order + 1):
                for part in self.parts:
                    for one in self._free(part.names, size, size):
                        if one not in places and count <= MOST_PARAMETERS:
                            width = math.prod(self.functions[n].shape[1] for n in one)
                            places[one] = np.arange(count, count + width)
                            count += width
                if count > MOST_PARAMETERS:
                    raise _too_large(self.names, self.block.channel.shape[0], count)
            self._counted[order] = places
        return self._counted[order]

    def _free(self, names: Sequence[str], most: int, least: int = 1) -> list[tuple[str, ...]]:
        """Return the sets of variables that may interact: of each more than one category occurs."""
        free = [name for name in names if self.functions[name].shape[1]]
        return [
            one for size in range(least, most + 1) for one in itertools.combinations(free, size)
        ]

    def _solved(self, order: int) -> tuple[Tensor, Tensor]:
        """Return the directions that reports tell, scaled to information 1, and the others."""
        if order not in self._directions:
            places = self._places(order)
            held = np.zeros((sum(map(len, places.values())),) * 2)
            for part in self.parts:
                within = self._free(part.names, order)
                if not within:
                    continue
                rows = _joined(places, within)
                held[np.ix_(rows, rows)] += part.weight * self._information(part, within)
            self._directions[order] = _told_directions(held)
        return self._directions[order]

    def _information(self, part: _Part, sets: Sequence[tuple[str, ...]]) -> Tensor:
        """Return what a record that reports so tells of the parameters of its sets."""
        cells, reports = part.channel.shape
        mixes = part.channel.mixture is not None
        count = sum(math.prod(self.functions[n].shape[1] for n in one) for one in sets)
        if max(cells, reports) * count > _ENTRIES or (cells * reports > _ENTRIES and not mixes):
            raise _too_large(part.names, max(cells, reports), count)
        shares = functools.reduce(np.multiply.outer, (self.shares[n] for n in part.names)).ravel()
        slopes = shares[:, None] * self._slopes(part.names, sets)
        return _information_of_one(part.channel, slopes, shares)

    def _slopes(self, names: tuple[str, ...], sets: Sequence[tuple[str, ...]]) -> Tensor:
        """Return the relative slopes of the cells over some variables, cells by parameters."""
        key = (names, tuple(sets))
        if key in self._sloping:
            return self._sloping[key]
        columns = []
        for one in sets:
            made: Tensor = np.ones((1, 1))
            for name in names:
                size = len(self.shares[name])
                own = self.functions[name] if name in one else np.ones((size, 1))
                made = np.asarray(np.kron(made, own), dtype=np.float64)
            columns.append(made)
        found = np.hstack(columns)
        if found.size <= _FEW:
            self._sloping[key] = found
        return found


def _information_of_one(channel: Transition, slopes: Tensor, theta: Tensor) -> Tensor:
    """Return the Fisher information of one report: the sum over reports of (dq)(dq)'/q."""
    empty = Stratum(np.zeros(channel.shape[1]), (channel,))
    q, moved = empty.expected(theta[:, None])[:, 0], empty.expected(slopes)
    seen = q > 0
    return np.asarray((moved[seen].T / q[seen]) @ moved[seen], dtype=np.float64)


def _told_directions(held: Tensor) -> tuple[Tensor, Tensor]:
    """Return directions that have information 1 and are independent, and those that have none."""
    whole, failed = lapack.dpotrf(held, lower=1, clean=1)
    if not failed:
        inverse, failed = lapack.dtrtri(whole, lower=1)
        # No direction has less information than one over the trace of the inverse.
        if not failed and np.square(inverse).sum() < 1e-2 / _NOTHING_HELD:
            return np.asarray(inverse.T, dtype=np.float64), np.zeros((len(held), 0))
    values, vectors = np.linalg.eigh(held)
    told = values > _NOTHING_HELD
    return vectors[:, told] / np.sqrt(values[told]), vectors[:, ~told]


def _joined(places: _Places, sets: Sequence[tuple[str, ...]]) -> npt.NDArray[np.intp]:
    return np.concatenate([places[one] for one in sets])


def _functions(shares: Tensor) -> Tensor:
    """Return functions with mean 0 that are orthonormal under a law, (categories, functions)."""
    there = shares > 0
    root = np.sqrt(shares[there] / shares.sum())
    # The last columns of a complete orthonormal basis that begins with the root.
    basis = np.linalg.qr(np.column_stack([root, np.eye(len(root))[:, 1:]]))[0][:, 1:]
    made = np.zeros((len(shares), len(root) - 1))
    made[there] = basis / root[:, None]
    return made


def _untold(asked: Sequence[str]) -> SingularChannel:
    return SingularChannel(
        f"The reports do not tell the interactions of the {len(asked)} variables {list(asked)}, so"
        " that there is no unbiased estimator."
    )


def _too_large(names: Sequence[str], cells: int, count: int) -> LimitExceeded:
    return LimitExceeded(
        f"The bound of {list(names)} is too large to be computed: {cells:,} cells or reports by"
        f" {count:,} parameters."
    )
