"""What a tree tells of the distribution of one attribute.

A path of n records that asks for an attribute tells that n of its values are within a condition;
one that does not tells nothing. That is a sample with grouped values, and its maximum-likelihood
distribution is the fixed point of self-consistency (Turnbull 1976; EM): each path's records are
spread over the cells of its condition in proportion to the distribution, and what they add up to
is the distribution. It takes for granted that paths that do not ask for an attribute have it
distributed as those that do. One record spread evenly is added, so that nothing is impossible and
the fixed point is unique.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pramana_core.mixed import Floats

_MOST_STEPS = 500
_TOLERANCE = 1e-7
_LEAST = 1e-9
"""Shares below it, which are differences of sums, are not told from nothing."""


def category_shares(allowed: Sequence[tuple[int, ...]], weights: Floats, categories: int) -> Floats:
    """Return the estimated shares of categories.

    Args:
        allowed: the codes that each condition leaves.
        weights: how many records have it.
        categories: how many there are.
    """
    inside = np.zeros((len(allowed), categories))
    for place, codes in enumerate(allowed):
        inside[place, list(codes)] = 1
    shares = np.full(categories, 1 / categories)
    for _ in range(_MOST_STEPS):
        expected = weights / (inside @ shares)
        shares, before = _step(shares, inside.T @ expected, weights.sum()), shares
        if np.abs(shares - before).max() < _TOLERANCE:
            break
    return shares


def cell_shares(
    edges: Floats, starts: npt.NDArray[np.intp], ends: npt.NDArray[np.intp], weights: Floats
) -> Floats:
    """Return the estimated shares of the cells between edges.

    Args:
        edges: the ends of m cells, m + 1, ascending.
        starts: the first cell of each condition.
        ends: the first cell beyond each.
        weights: how many records have it.
    """
    widths = np.diff(edges)
    even = widths / widths.sum()
    shares: Floats = even
    for _ in range(_MOST_STEPS):
        sums = np.concatenate([[0.0], np.cumsum(shares)])
        expected = weights / np.maximum(sums[ends] - sums[starts], _LEAST)
        steps = np.zeros(len(edges))
        np.add.at(steps, starts, expected)
        np.add.at(steps, ends, -expected)
        factors = np.maximum(np.cumsum(steps)[:-1], 0)
        shares, before = _step(shares, factors, weights.sum(), even), shares
        if np.abs(shares - before).max() < _TOLERANCE:
            break
    return shares


def _step(shares: Floats, factors: Floats, records: float, even: Floats | None = None) -> Floats:
    prior = 1 / len(shares) if even is None else even
    found: Floats = (shares * factors + prior) / (records + 1)
    scaled: Floats = found / found.sum()
    return scaled
