"""The equations Y = A X that the mechanisms' estimators solve, table by table (FRAPP 2.2, 6)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.reproduce.frapp.data import Survey
from benchmarks.reproduce.frapp.mechanisms import Mechanism
from pramana_core.channels import (
    CONDITION_LIMIT,
    RESOLUTION,
    CutAndPaste,
    OneHot,
    Symmetric,
    Transition,
)
from pramana_core.errors import PlanError
from pramana_core.learn.rules.itemsets import all_items
from pramana_core.marginals.counts import ReportedCounts, Tensor
from pramana_core.marginals.support_counts import Item
from pramana_core.plan import Block

DIAGONAL, BITWISE = ("DET-GD", "RAN-GD"), ("MASK", "C&P")
"""The mechanisms that randomize whole records, and those that randomize items."""

_Bits = npt.NDArray[np.int64]


@dataclass(frozen=True)
class System:
    """The equations Y = A X of one table, solved.

    Args:
        truth: X, the true counts.
        expected: E(Y) = A X.
        reports: Y.
        estimate: X^, the solution for Y.
        condition: A's in the 2-norm, the largest singular value over the smallest.
        eigenvalues: the largest eigenvalue over the smallest, in absolute value.
    """

    truth: Tensor
    expected: Tensor
    reports: Tensor
    estimate: Tensor
    condition: float
    eigenvalues: float

    @classmethod
    def of(cls, matrix: Tensor, truth: Tensor, reports: Tensor) -> System | None:
        """Solve the equations of a listed matrix; None if it has no inverse."""
        condition = float(np.linalg.cond(matrix))
        if condition > CONDITION_LIMIT:
            return None
        sizes = np.abs(np.linalg.eigvals(matrix))
        estimate: Tensor = np.linalg.solve(matrix, reports).astype(np.float64)
        return cls(
            truth, matrix @ truth, reports, estimate, condition, float(sizes.max() / sizes.min())
        )

    @property
    def error(self) -> float:
        """The left side of equation 9, ||X^ - X|| / ||X||."""
        return norm(self.estimate - self.truth) / norm(self.truth)

    @property
    def deviation(self) -> float:
        """The reports' own relative error, ||Y - E(Y)|| / ||E(Y)||."""
        return norm(self.reports - self.expected) / norm(self.expected)


def systems(
    mechanism: Mechanism, survey: Survey, reported: ReportedCounts
) -> Iterator[tuple[int, System]]:
    """Return by itemset length the equations that the paper's estimator solves.

    DET-GD and RAN-GD: a table of all categories for every set of variables (FRAPP eq. 28). MASK: a
    table of the 2^k patterns of the items of every frequent itemset. C&P: the counts of records
    with 0 to k of its items. Where there is no inverse there is nothing.
    """
    if mechanism.name in DIAGONAL:
        yield from of_tables(mechanism, survey, reported)
        return
    items = all_items(survey.domain)
    for itemset in survey.itemsets:
        made = _of_items(mechanism, survey, reported, [items[place] for place in itemset])
        if made is not None:
            yield len(itemset), made


def of_tables(
    mechanism: Mechanism, survey: Survey, reported: ReportedCounts
) -> Iterator[tuple[int, System]]:
    """Return by length the equations of every set of variables, that of all last."""
    exact = ReportedCounts(survey.codes, {v.name: v.size for v in survey.domain})
    (block,) = mechanism.plan.blocks
    for length in range(1, len(survey.domain) + 1):
        for names in itertools.combinations(survey.domain.names, length):
            channel = _restricted(block, names)
            truth, reports = (c.table(names).ravel().astype(np.float64) for c in (exact, reported))
            expected, estimate = channel.apply(truth, 0), channel.solve(reports, 0)
            c = channel.condition_number  # the matrix is symmetric
            yield length, System(truth, expected, reports, estimate, c, c)


def _of_items(
    mechanism: Mechanism, survey: Survey, reported: ReportedCounts, items: Sequence[Item]
) -> System | None:
    true = [(survey.codes[name] == code).astype(np.int64) for name, code in items]
    told = [(reported.column(name).astype(np.int64) >> code) & 1 for name, code in items]
    matrix, cells = _matrix(mechanism, [name for name, _ in items])
    truth, reports = (
        np.bincount(cells(bits), minlength=len(matrix)).astype(np.float64) for bits in (true, told)
    )
    return System.of(matrix, truth, reports)


def _matrix(
    mechanism: Mechanism, names: Sequence[str]
) -> tuple[Tensor, Callable[[Sequence[_Bits]], _Bits]]:
    """Return the paper's matrix for items of these variables and what finds a record's cell."""
    block = mechanism.plan.block_of(names[0])
    if isinstance(block.channel, OneHot):
        flip = Symmetric.from_probability(2, block.channel.flip_units / RESOLUTION).matrix()
        product = np.ones((1, 1))
        for _ in names:
            product = np.kron(product, flip).astype(np.float64)
        return product, _pattern
    channel = _restricted(block, names)
    if not isinstance(channel, CutAndPaste):
        raise PlanError(f"{mechanism.name} does not report items.")
    return channel.partial_supports, _number


def _restricted(block: Block, names: Sequence[str]) -> Transition:
    channel = block.restrict(names)
    if channel is None:
        raise PlanError(f"Block {block.name!r} has no channel over {list(names)} alone.")
    return channel


def _pattern(bits: Sequence[_Bits]) -> _Bits:
    """Return the number whose binary digits are a record's bits, the first one highest."""
    found: _Bits = np.zeros(len(bits[0]), dtype=np.int64)
    for each in bits:
        found = 2 * found + each
    return found


def _number(bits: Sequence[_Bits]) -> _Bits:
    found: _Bits = np.sum(bits, axis=0, dtype=np.int64)
    return found


def norm(vector: Tensor) -> float:
    """Return the Euclidean norm."""
    return float(np.linalg.norm(vector))
