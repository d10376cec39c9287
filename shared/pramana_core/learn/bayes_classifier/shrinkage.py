"""Conditional distributions from estimated counts, made valid and shrunk according to their noise.

Raw counts are shrunk toward distributions with less noise, by half the amount of James and Stein's
positive-part estimate, because a classifier adds up many tables whose noise partly cancels. For
counts that were already shrunk, half of the shrinkage is undone. Probabilities near 0, compared
with their errors, are raised.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy.special import log_ndtr

from pramana_core.learn.common.distributions import project_to_simplex
from pramana_core.learn.networks.bayes_net import LearnedFamily
from pramana_core.marginals.counts import Tensor
from pramana_core.marginals.tables import MarginalTable

_RAISED = 0.25
"""An uncertain probability is raised to at least this multiple of its standard error."""

_MOST_CONTRASTS = 600
"""The maximum number of contrasts of a table; above it, nothing is shrunk."""

_ROUNDING = 1e-9


def is_raw(table: MarginalTable, unbiased: MarginalTable | None) -> bool:
    """Return whether a table's counts are unbiased rather than shrunk."""
    return unbiased is not None and np.array_equal(unbiased.counts, table.counts)


def unshrink_half(shrunk: LearnedFamily, unbiased: LearnedFamily) -> LearnedFamily:
    """Return the mean of shrunk and unbiased parameters; errors are of the unbiased ones."""
    both = ~np.isnan(shrunk.estimate) & ~np.isnan(unbiased.estimate)
    middle = np.where(both, (shrunk.estimate + unbiased.estimate) / 2, shrunk.probability)
    return replace(
        shrunk,
        probability=project_to_simplex(middle),
        se_records=np.where(both, unbiased.se_records, shrunk.se_records),
    )


def share_kept(table: MarginalTable, strata: int) -> float:
    """Return the factor by which shrinkage multiplies a raw table's deviations from independence.

    The axes are (strata..., parents..., node). Independence is of parents and node, by stratum.
    """
    shape = table.counts.shape
    rows, size = math.prod(shape[strata:-1]), shape[-1]
    counts = table.counts.reshape(-1, rows, size)
    if len(counts) * (rows - 1) * (size - 1) > _MOST_CONTRASTS:
        return 1.0
    total = np.maximum(counts.sum(axis=(1, 2), keepdims=True), 1.0)
    margins = counts.sum(axis=1, keepdims=True) * counts.sum(axis=2, keepdims=True)
    contrasts = np.kron(np.eye(len(counts)), np.kron(_contrasts(rows), _contrasts(size)))
    deviations = contrasts @ (counts - margins / total).ravel()
    noise = table.covariance_of(contrasts.reshape(-1, *shape), population=False)
    scale = _ROUNDING * max(float(np.abs(noise).max()), table.records)
    values, vectors = np.linalg.eigh((noise + noise.T) / 2)
    if values.max() <= scale:
        return 1.0
    statistic = float((np.square(vectors.T @ deviations) / np.maximum(values, scale)).sum())
    return max(0.0, 1.0 - len(deviations) / statistic) if statistic > 0 else 0.0


def _contrasts(size: int) -> Tensor:
    whole = np.concatenate([np.ones((size, 1)), np.eye(size)[:, : size - 1]], axis=1)
    return np.linalg.qr(whole)[0][:, 1:].T


def conditional(
    family: LearnedFamily, margin: Tensor, towards: Tensor, kept: float, alpha: float
) -> Tensor:
    """Return the distributions that predictions use, in the shape of the family.

    Each row is moved toward its row in `towards`; `kept` is the share of the distance that remains.
    `margin` has the counts of the parents. `alpha` is added to every cell.
    """
    known = ~np.isnan(family.estimate)
    moved = towards + np.where(known, kept * (family.probability - towards), 0.0)
    proper = _raised(moved, kept * _RAISED * np.where(known, family.se_records, 0.0))
    count = np.maximum(margin, 0.0)[..., None]
    found: Tensor = (count * proper + alpha) / (count + alpha * proper.shape[-1])
    return found


def _raised(shares: Tensor, errors: Tensor) -> Tensor:
    """Return the means of normals with these errors, truncated at 0 and then normalized."""
    some = errors > _ROUNDING
    safe = np.where(some, errors, 1.0)
    deviate = shares / safe
    density = np.exp(-np.square(deviate) / 2 - log_ndtr(deviate)) / math.sqrt(2 * math.pi)
    raised = shares + np.where(some, errors * density, 0.0)
    found: Tensor = raised / raised.sum(axis=-1, keepdims=True)
    return found
