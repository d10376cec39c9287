"""Ranks: values in another order, and the normal scores behind a normal copula."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import special, stats

from shared.mask.core.randomness import Randomness
from shared.mixed.table import Floats


def reordered(values: Floats, like: Floats) -> Floats:
    """Return each column of `values` in the order of ranks that the column of `like` has: n x q.

    The released numbers are the original ones, so their marginal is exactly the original.
    """
    found = np.empty_like(values)
    for place in range(values.shape[1]):
        found[np.argsort(like[:, place], kind="stable"), place] = np.sort(values[:, place])
    return found


def normal_scores(values: Floats) -> Floats:
    """Return the normal scores of columns, ties at their mean rank: n x k."""
    return _scores(values, stats.rankdata)


def normal_scores_of_broken_ties(values: Floats, rng: Randomness) -> Floats:
    """Return the normal scores of columns, ties in random order: n x k.

    The scores of each column are then the same n numbers, whatever ties there are. One order serves
    all columns, so those that are the same up to scale have the same scores.
    """
    order = rng.permutation(len(values))
    found = np.empty(values.shape)
    found[order] = _scores(values[order], partial(stats.rankdata, method="ordinal"))
    return found


def from_normal_scores(scores: Floats, values: Floats) -> Floats:
    """Return scores as values of the marginals of `values`, between whose order statistics it
    interpolates: n x k. Nothing lies beyond the smallest and the largest."""
    n = len(values)
    places = special.ndtr(scores) * (n + 1)
    steps = np.arange(1, n + 1)
    columns = (np.interp(p, steps, np.sort(v)) for p, v in zip(places.T, values.T, strict=True))
    return np.column_stack(list(columns))


def _scores(values: Floats, ranks: Callable[[Floats], Floats]) -> Floats:
    """Return Phi^-1(rank / (n + 1)) of columns."""
    found = np.empty(values.shape)
    for place in range(values.shape[1]):
        found[:, place] = special.ndtri(ranks(values[:, place]) / (len(values) + 1))
    return found
