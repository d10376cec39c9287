"""Frequent itemsets found from estimated supports, and how wrong they are (FRAPP 6 and 7).

An itemset is a combination of categories of different variables; its length is their number. All
itemsets over one set of variables are the cells of one table, so that they are found together.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from shared.counts import Tensor
from shared.domain import Domain
from shared.errors import LimitExceeded, OptionError, SingularChannel

Supports = Callable[[tuple[str, ...]], Tensor]
"""Given variables, returns the share of the records in each cell of their table."""

Cells = npt.NDArray[np.bool_]

MEASURES = ("support_error", "false_negatives", "false_positives")
"""The columns of `accuracy` that are errors, all in percent."""


@dataclass(frozen=True)
class Itemsets:
    """Frequent itemsets: by variables, the supports of all cells and which cells are frequent."""

    domain: Domain
    supports: Mapping[tuple[str, ...], Tensor]
    frequent: Mapping[tuple[str, ...], Cells]

    def tables(self, length: int) -> Iterator[tuple[str, ...]]:
        """Yield every set of `length` variables."""
        return itertools.combinations(self.domain.names, length)

    def cells(self, names: tuple[str, ...]) -> Cells:
        """Return which cells of a table are frequent: none where it was not looked at."""
        nothing = np.zeros(self.domain.project(names).shape, dtype=np.bool_)
        return self.frequent.get(names, nothing)

    def count(self, length: int) -> int:
        """Return the number of frequent itemsets of a length."""
        return sum(int(self.cells(names).sum()) for names in self.tables(length))


def apriori(supports: Supports, domain: Domain, minimum: float) -> Itemsets:
    """Find the itemsets of support `minimum` or more level by level, as FRAPP 7 does.

    An itemset is looked at only if all its subsets one item shorter were found frequent. Over
    variables of which nothing can be estimated, or whose reports are too many to count, nothing is
    found.

    Args:
        supports: exact or estimated shares; estimates may be negative.
        domain: the variables.
        minimum: the least support, as a share of the records.

    Raises:
        OptionError: the minimum is not above 0 and at most 1.
    """
    return _mine(supports, domain, minimum, _with_frequent_subsets)


def direct(supports: Supports, domain: Domain, minimum: float) -> Itemsets:
    """Find the itemsets of support `minimum` or more by looking at every itemset there is.

    Supports of estimates need not fall with the length, so that this finds more than `apriori`.
    Arguments and errors as there.
    """
    return _mine(supports, domain, minimum, _all)


def accuracy(truth: Itemsets, found: Itemsets) -> pd.DataFrame:
    """Compare found with truly frequent itemsets (FRAPP 7, accuracy metrics).

    Returns:
        A row per length that has truly frequent itemsets: `length`, `frequent` and `found` (their
        numbers), `support_error` (the mean relative error of the supports of those rightly found;
        NaN if none is), `false_negatives` and `false_positives` relative to the number of truly
        frequent ones, in percent.
    """
    rows = []
    for length in range(1, len(truth.domain) + 1):
        if not (frequent := truth.count(length)):
            break
        errors = np.concatenate([_errors(truth, found, names) for names in truth.tables(length)])
        number = found.count(length)
        rows.append(
            (
                length,
                frequent,
                number,
                100 * errors.mean() if errors.size else np.nan,
                100 * (frequent - errors.size) / frequent,
                100 * (number - errors.size) / frequent,
            )
        )
    return pd.DataFrame(rows, columns=["length", "frequent", "found", *MEASURES])


def _mine(
    supports: Supports,
    domain: Domain,
    minimum: float,
    candidates_of: Callable[[Itemsets, tuple[str, ...]], Cells],
) -> Itemsets:
    if not 0 < minimum <= 1:
        raise OptionError(
            f"A minimum support of {minimum} is none.",
            where="minimum",
            remedy="Give a share above 0 and at most 1.",
        )
    found = Itemsets(domain, shares := {}, frequent := {})
    for length in range(1, len(domain) + 1):
        for names in found.tables(length):
            candidates = candidates_of(found, names)
            if candidates.any() and (seen := _estimated(supports, names)) is not None:
                shares[names] = seen
                frequent[names] = candidates & (seen >= minimum)
    return found


def _all(found: Itemsets, names: tuple[str, ...]) -> Cells:
    return np.ones(found.domain.project(names).shape, dtype=np.bool_)


def _with_frequent_subsets(found: Itemsets, names: tuple[str, ...]) -> Cells:
    cells = _all(found, names)
    if len(names) > 1:
        for axis in range(len(names)):
            shorter = found.cells(names[:axis] + names[axis + 1 :])
            cells &= np.expand_dims(shorter, axis)
    return cells


def _estimated(supports: Supports, names: tuple[str, ...]) -> Tensor | None:
    try:
        return supports(names)
    except (SingularChannel, LimitExceeded):
        return None


def _errors(truth: Itemsets, found: Itemsets, names: tuple[str, ...]) -> Tensor:
    """Return the relative errors of the supports of the itemsets that are rightly found."""
    right = truth.cells(names) & found.cells(names)
    if not right.any():
        return np.zeros(0)
    true = truth.supports[names][right]
    return np.asarray(np.abs(found.supports[names][right] - true) / true, dtype=np.float64)
