"""Plans of every family of channel, and estimates made record by record.

The oracle knows no tensors, packed bits, tables or lumping: each record's report is turned into the
estimators of all cells, block after block, and these and their products are added up.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pramana_core.channels import (
    RESOLUTION,
    Choice,
    CutAndPaste,
    Dense,
    Grouped,
    Identity,
    Mixture,
    OneHot,
    RandomSymmetric,
    Sampled,
    Symmetric,
)
from pramana_core.domain import Domain
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Block, Plan

DOMAIN = Domain.of(a="xy", b="123", c="pq")
A, B, C = DOMAIN
SWAPS = Grouped(
    ((0, 4), (1, 2), (3,), (5,)), (Dense.binary(0.3, 0.1), Dense.binary(0.2, 0.4), None, None)
)
WIDE = Dense.from_probabilities([[0.6, 0.3, 0.1], [0.1, 0.2, 0.7]])
HALF = RESOLUTION // 2
CHOICES = (
    Choice((0, 1), HALF, Symmetric.from_gamma(6, 19.0)),
    Choice((0,), RESOLUTION // 4, Dense.binary(0.2, 0.1)),
    Choice((1,), RESOLUTION // 8, Dense.ternary(0.1, 0.25)),
)
FLIP = Symmetric.from_probability(2, 0.2)
THREE = Symmetric.from_probability(3, 0.3)

INDEPENDENT = Plan(
    (Block((A,), Dense.binary(0.1, 0.25)), Block((B,), THREE), Block((C,), Identity(2)))
)
PLANS = {
    "clean": Plan.unrandomized(DOMAIN),
    "independent": INDEPENDENT,
    "ternary": Plan(
        (Block((C,), FLIP), Block((B,), Dense.ternary(0.1, 0.25)), Block((A,), Identity(2)))
    ),
    "grouped": Plan(
        (
            Block((B,), Grouped(((0, 2), (1,)), (Dense.binary(0.1, 0.3), None))),
            Block((A, C), Identity(4)),
        )
    ),
    "joint-symmetric": Plan((Block((C,), FLIP), Block((B, A), Symmetric.from_gamma(6, 9.0)))),
    "joint-around": Plan((Block((A,), FLIP), Block((B, C), Symmetric.from_gamma(6, 9.0)))),
    "mixture": Plan((Block((B, C, A), Mixture.from_gamma(12, 19.0)),)),
    "ran-gd": Plan(
        (Block((A, B), RandomSymmetric.around_gamma(6, 9.0, 0.5)), Block((C,), Identity(2)))
    ),
    "not-lumpable": Plan((Block((A, B), SWAPS), Block((C,), Dense.binary(0.2, 0.1)))),
    "one-hot": Plan(
        (Block((A,), FLIP), Block((B,), OneHot.from_probability(3, 0.8)), Block((C,), Identity(2)))
    ),
    "one-hot-exact": Plan(
        (Block((A,), FLIP), Block((B,), OneHot.from_probability(3, 1.0)), Block((C,), Identity(2)))
    ),
    "cut-and-paste": Plan(
        (Block((A, B), CutAndPaste.from_probability((2, 3), 2, 0.2)), Block((C,), FLIP))
    ),
    "sampled": Plan((Block((C,), FLIP), Block((A, B), Sampled((2, 3), CHOICES)))),
    "wide": Plan((Block((C,), WIDE), Block((B,), THREE), Block((A,), FLIP))),
}


class Table:
    """Reported counts given as a tensor over some columns."""

    def __init__(self, names: Sequence[str], tensor: np.ndarray):
        self.names, self.tensor = tuple(names), np.asarray(tensor)
        self.records = round(float(self.tensor.sum()))

    def table(self, names):
        gone = tuple(i for i, n in enumerate(self.names) if n not in names)
        left = [n for n in self.names if n in names]
        return self.tensor.sum(axis=gone).transpose([left.index(n) for n in names])


@dataclass(frozen=True)
class Records:
    """Reports of some records under a plan."""

    plan: Plan
    columns: Mapping[str, np.ndarray]

    @classmethod
    def random(cls, plan: Plan, records: int, seed: int, dtype: type = np.uint16) -> Records:
        """Any codes at all: estimates are functions of the reports, however these came about."""
        rng = np.random.default_rng(seed)
        sizes = plan.reported_sizes.items()
        return cls(plan, {name: rng.integers(0, size, records, dtype) for name, size in sizes})

    @property
    def size(self) -> int:
        return len(next(iter(self.columns.values())))

    def counts(self) -> ReportedCounts:
        return ReportedCounts(self.columns, self.plan.reported_sizes)

    def marginals(self, **options) -> EstimatedMarginals:
        return EstimatedMarginals(self.counts(), self.plan, **options)

    def estimators(self, names: Sequence[str]) -> np.ndarray:
        """Return each record's estimator of each cell over `names`, (records, cells...)."""
        whole, order = np.ones((self.size, 1)), []
        for block in self.plan.blocks:
            kept = [v for v in block.variables if v.name in names]
            if kept:
                order += [v.name for v in kept]
                rows = decoder_of(block, order)[:, self._codes(block)].T
                whole = np.einsum("rc,rd->rcd", whole, rows).reshape(self.size, -1)
        split = whole.reshape(self.size, *(self.plan.domain[name].size for name in order))
        return split.transpose([0, *(1 + order.index(name) for name in names)])

    def posterior(self, names: Sequence[str], prior: np.ndarray) -> np.ndarray:
        """Return the sums over the records of Pr(cell | report) under a prior over `names`.

        Joint blocks of which some variables are named must be lumpable for these.
        """
        joint = prior[None].astype(float)
        for block in self.plan.blocks:
            kept = [name for name in block.names if name in names]
            if kept:
                chances = reports_of_some(block, kept)[:, self._codes(block)].T
                sizes = [self.plan.domain[name].size for name in kept]
                spread = [self.plan.domain[name].size if name in kept else 1 for name in names]
                order = [kept.index(name) for name in names if name in kept]
                split = chances.reshape(self.size, *sizes)
                joint = joint * split.transpose([0, *(1 + i for i in order)]).reshape(
                    self.size, *spread
                )
        total = joint.sum(axis=tuple(range(1, joint.ndim)), keepdims=True)
        return (joint / total).sum(axis=0)

    def _codes(self, block: Block) -> np.ndarray:
        codes = [self.columns[name].astype(np.int64) for name in block.names]
        return np.ravel_multi_index(codes, block.reported_shape)


def decoder_of(block: Block, names: Sequence[str]) -> np.ndarray:
    """Return the estimator of each cell of some of a block's variables, (cells, whole reports).

    Of a square channel it is that of the whole block, summed: whether the channel is lumpable does
    not matter. Else many estimators exist; it is the one of the channel of those variables alone.
    """
    gone = tuple(i for i, name in enumerate(block.names) if name not in names)
    sizes = [v.size for v in block.variables]
    matrix = block.channel.matrix()
    if matrix.shape[0] == matrix.shape[1]:
        inverse = np.linalg.inv(matrix).T
        return inverse.reshape(*sizes, -1).sum(axis=gone).reshape(-1, len(inverse))
    channel = block.restrict([name for name in block.names if name in names])
    assert channel is not None
    decoder = channel.decoder()
    np.testing.assert_allclose(decoder @ channel.matrix().T, np.eye(len(decoder)), atol=1e-9)
    shape = block.reported_shape
    left = [1 if i in gone else size for i, size in enumerate(shape)]
    spread = np.broadcast_to(decoder.reshape(-1, *left), (len(decoder), *shape))
    return spread.reshape(len(decoder), -1)


def reports_of_some(block: Block, names: Sequence[str]) -> np.ndarray:
    """Return how likely the whole report's codes of some variables are, (true cells, reports)."""
    sizes, reported = [v.size for v in block.variables], block.reported_shape
    gone = tuple(i for i, name in enumerate(block.names) if name not in names)
    tensor = block.channel.matrix().reshape(*sizes, *reported)
    summed = tensor.sum(axis=tuple(len(sizes) + i for i in gone), keepdims=True)
    first = tuple(slice(0, 1) if i in gone else slice(None) for i in range(len(sizes)))
    lumped = np.broadcast_to(summed[first], summed.shape)
    np.testing.assert_allclose(summed, lumped, atol=1e-12, err_msg="not lumpable")
    true = summed[first]
    every = np.broadcast_to(true, (*true.shape[: len(sizes)], *reported))
    return every.reshape(-1, tensor.size // np.prod(sizes, dtype=int))


def itemsets_of(items: Sequence[tuple[str, int]], length: int) -> np.ndarray:
    """Return all sets of some items of different variables, as rows of places."""
    rows = [
        row
        for row in itertools.combinations(range(len(items)), length)
        if len({items[i][0] for i in row}) == length
    ]
    return np.array(rows, dtype=np.int64).reshape(-1, length)


def sides_of(length: int) -> list[np.ndarray]:
    """Return all ways to divide so many items into two parts that are not empty."""
    ways = itertools.product((True, False), repeat=length)
    return [np.array(side) for side in ways if 0 < sum(side) < length]


def reports_of(plan: Plan) -> list[tuple[tuple[int, ...], np.ndarray]]:
    """Return every report of a record, and its probability given each true cell of the plan."""
    matrix = np.ones((1, 1))
    for block in plan.blocks:
        matrix = np.kron(matrix, block.channel.matrix())
    shape = [plan.reported_sizes[name] for name in plan.domain.names]
    return list(zip(np.ndindex(*shape), matrix.T, strict=True))


def records_of(plan: Plan, reports: Sequence[Sequence[int]]) -> Records:
    """Return the records that have some reports."""
    codes = np.array(reports, dtype=np.uint8)
    return Records(plan, {name: codes[:, i] for i, name in enumerate(plan.domain.names)})


# Plans of so few cells that every report can be enumerated.
FIRST, SECOND = Domain.of(a="xy", c="pq")
PAIRS = Grouped(((0, 3), (1, 2)), (Dense.binary(0.2, 0.1), Dense.binary(0.1, 0.3)))
TINY = {
    "single": Plan((Block((FIRST,), Dense.binary(0.1, 0.25)), Block((SECOND,), FLIP))),
    "joint": Plan((Block((SECOND, FIRST), Symmetric.from_gamma(4, 9.0)),)),
    "not-lumpable": Plan((Block((FIRST, SECOND), PAIRS),)),
    "wide": Plan((Block((SECOND,), WIDE), Block((FIRST,), FLIP))),
}
