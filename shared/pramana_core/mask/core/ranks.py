"""Ranks: values in another order, and the normal scores behind a normal copula."""

from __future__ import annotations

import numpy as np
from scipy import special, stats

from pramana_core.mixed.table import Floats


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
    found = np.empty(values.shape)
    for place in range(values.shape[1]):
        found[:, place] = special.ndtri(stats.rankdata(values[:, place]) / (len(values) + 1))
    return found


def from_normal_scores(scores: Floats, values: Floats) -> Floats:
    """Return scores as values of the marginals of `values`, between whose order statistics it
    interpolates: n x k. Nothing lies beyond the smallest and the largest."""
    n = len(values)
    places = special.ndtr(scores) * (n + 1)
    steps = np.arange(1, n + 1)
    columns = (np.interp(p, steps, np.sort(v)) for p, v in zip(places.T, values.T, strict=True))
    return np.column_stack(list(columns))
