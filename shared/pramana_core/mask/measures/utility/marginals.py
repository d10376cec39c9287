"""Each column by itself: means, spreads, quantiles, distributions, means by category of S."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pramana_core.mask.measures.core.compared import Compared
from pramana_core.mixed.table import CategoricalColumn, Floats
from pramana_core.ties import first_largest

SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""The quantiles compared."""


@dataclass(frozen=True)
class Marginal:
    """How far a masked column's distribution is from the true one's.

    Attributes:
        mean: the difference of means, masked - true, in standard deviations of the true column.
        mean_error: its standard error over records, by their paired differences.
        spread: the masked standard deviation over the true one.
        quantile: the largest absolute difference of the quantiles at 5, 25, 50, 75 and 95 per
            cent, in standard deviations.
        distance: Kolmogorov and Smirnov's: the largest difference of the distribution functions.
    """

    mean: float
    mean_error: float
    spread: float
    quantile: float
    distance: float


@dataclass(frozen=True)
class GroupMean:
    """The category of a column of S whose mean of a confidential column moved most.

    Attributes:
        column: the column of S.
        category: its category.
        difference: masked - true mean, in standard deviations of the true column.
        error: its standard error over the category's records.
        records: how many the category has.
    """

    column: str
    category: str
    difference: float
    error: float
    records: int


def marginal(true: Floats, masked: Floats) -> Marginal:
    """Compare the distributions of one column, n true and n masked values."""
    scale = float(true.std())
    gap = (masked - true) / scale
    quantiles = np.quantile(masked, SHARES) - np.quantile(true, SHARES)
    every = np.concatenate([true, masked])
    below = np.searchsorted(np.sort(true), every, side="right") / len(true)
    others = np.searchsorted(np.sort(masked), every, side="right") / len(masked)
    return Marginal(
        float(gap.mean()),
        float(gap.std(ddof=1) / np.sqrt(len(gap))),
        float(masked.std()) / scale,
        float(np.max(np.abs(quantiles))) / scale,
        float(np.max(np.abs(below - others))),
    )


def group_means(data: Compared, place: int, *, fewest: int = 5) -> tuple[GroupMean, ...]:
    """Return for each categorical column of S the category whose mean moved most.

    Args:
        data: S, X and Y.
        place: which column of X.
        fewest: categories with fewer records are left out.
    """
    gap = (data.masked[:, place] - data.true[:, place]) / data.scales[place]
    found = []
    for column in data.s.columns:
        if not isinstance(column, CategoricalColumn):
            continue
        moved = []
        for code, category in enumerate(column.categories):
            own = gap[column.codes == code]
            if len(own) >= fewest:
                error = float(own.std(ddof=1) / np.sqrt(len(own)))
                moved.append(GroupMean(column.name, category, float(own.mean()), error, len(own)))
        if moved:
            found.append(moved[first_largest([abs(group.difference) for group in moved])])
    return tuple(found)
