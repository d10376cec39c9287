"""Intervals of the shares that classes have among a node's records.

A share is a ratio: T of a class over n of the node, both estimated and both with noise. A share t
is held possible (Fieller 1954) if T - t n is within z standard errors of 0, and the standard error
is the one that t supposes (a score interval, Wilson 1927): the mean square of W - t V, with W and V
the functions of a report that estimate T and n, is that of the reports as they are, less what the
node's own records add to it at their estimated classes, and plus what they add if the class has
the share t and the others are in proportion. So an interval covers also where a class has hardly
any records, whose estimate and error are too small at once.
"""

from __future__ import annotations

import numpy as np

from pramana_core.learn.tree.evidence import EMPTY, valid_rows
from pramana_core.marginals.counts import LEVEL, CellMoments, Tensor
from pramana_core.marginals.quantile import normal_quantile

_Z = normal_quantile(LEVEL)
_HALVINGS = 22


def share_intervals(
    counts: Tensor, products: Tensor, moments: CellMoments | None, records: int
) -> tuple[Tensor, Tensor]:
    """Return intervals of each class's share of a node's records, against the population.

    Args:
        counts: estimated counts by node and class, (K, m).
        products: sums over the reports of the products of their estimators, (K, m, m).
        moments: see `Subtable.moments_given_cell`; None takes the node's own records as if they
            were not randomized, and all noise as it is estimated.
        records: the number of all records.

    Returns:
        The lower and the upper ends, each (K, m), within [0, 1]; 0 and 1 of a node without records.
    """
    k, m = counts.shape
    size = counts.sum(axis=1, keepdims=True)
    there = size > EMPTY * records
    size = np.where(there, size, 1.0)
    own = np.clip(counts / size, 0.0, 1.0)
    seen = _powers(
        np.einsum("kaa->ka", products),
        products.sum(axis=2),
        np.repeat(products.sum(axis=(1, 2))[:, None], m, axis=1),
    )
    if moments is None:
        each = np.repeat(np.eye(m)[None], k, axis=0)
        moments = CellMoments(each, each, np.ones((k, m)))
    inside, same, others = _inside(moments, counts, valid_rows(counts / size))
    outside = seen - inside

    def possible(share: Tensor) -> Tensor:
        powers = np.stack([np.ones_like(share), share, share**2])
        square = np.maximum((outside[:, None] * powers).sum(axis=0), 0.0)
        mixed = share * (same[:, None] * powers).sum(axis=0)
        mixed += (1 - share) * (others[:, None] * powers).sum(axis=0)
        error = _Z**2 * (square + size * np.maximum(mixed, 0.0))
        accepted: Tensor = np.square((own - share) * size) <= error
        return accepted

    far = np.stack([np.zeros_like(own), np.ones_like(own)])
    near = np.stack([own, own])
    whole = possible(far)
    for _ in range(_HALVINGS):
        middle = (near + far) / 2
        held = possible(middle)
        near, far = np.where(held, middle, near), np.where(held, far, middle)
    low, high = np.where(whole, [[[0.0]], [[1.0]]], near)
    return np.where(there, low, 0.0), np.where(there, high, 1.0)


def _powers(square: Tensor, cross: Tensor, margin: Tensor) -> Tensor:
    """Return the mean square of W - t V as the coefficients of 1, t and t^2."""
    return np.stack([square, -2 * cross, margin])


def _inside(moments: CellMoments, counts: Tensor, shares: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return what the node's records add as they are estimated, those of a class, and the others.

    Each as coefficients, (3, K, m); the last two are of one record.
    """
    m = counts.shape[1]
    left = 1 - shares
    # How the classes other than a (axis 1) are spread: equally where they have no records.
    spread = np.where(
        left[:, :, None] > EMPTY,
        shares[:, None, :] / np.where(left > EMPTY, left, 1.0)[:, :, None],
        1 / max(m - 1, 1),
    ) * (1 - np.eye(m))
    margin = moments.margin[:, None, :] + np.zeros((1, m, 1))
    parts = (moments.square, moments.cross, margin)
    return (
        _powers(*(np.einsum("kab,kb->ka", part, counts) for part in parts)),
        _powers(*(np.einsum("kaa->ka", part) for part in parts)),
        _powers(*(np.einsum("kab,kab->ka", part, spread) for part in parts)),
    )
