"""Conditional expectations E(targets | features), linear or by a kernel.

A record's expectation may come from a fit without that record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from pramana_core.kernel_regression.fitting import fit_kernel
from pramana_core.mask.core.noise import Randomness
from pramana_core.mixed import Floats, basis_of, leverages, with_constant

Kind = Literal["linear", "kernel"]

MOST_FITTED = 2_000
"""The maximum number of records to which a kernel is fitted; the fit predicts the other records."""

LANDMARKS = 100
"""The number of landmarks of a kernel; few suffice, because measures need hundreds of fits."""


@dataclass(frozen=True, eq=False)
class Expectation:
    """Predicted expectations of q targets.

    `fitted` has the predictions of the n records from all records, and `left_out` the prediction
    of each record from the other records. `predict` is for new records.
    """

    fitted: Floats
    left_out: Floats
    predict: Callable[[Floats], Floats]


def expectation(
    kind: Kind,
    features: Floats,
    targets: Floats,
    rng: Randomness,
    *,
    standardize: bool = True,
    most: int = MOST_FITTED,
    landmarks: int = LANDMARKS,
) -> Expectation:
    """Return the expectations of targets, n x q, given features, n x k in any units.

    With `standardize`, all columns that vary have equal weight. A kernel has at most `landmarks`
    landmarks and is fitted to at most `most` records, which are drawn by `rng`.
    """
    centre, scale = features.mean(axis=0), features.std(axis=0)
    kept = scale > 1e-12 * np.maximum(1.0, np.abs(centre))
    if not standardize:
        scale = np.ones_like(scale)

    def standard(rows: Floats) -> Floats:
        found: Floats = (rows[:, kept] - centre[kept]) / scale[kept]
        return found

    if not kept.any() or kind == "linear":
        return _linear(standard, features, targets)
    n = len(features)
    chosen = np.sort(rng.permutation(n)[:most]) if n > most else np.arange(n)
    inputs = standard(features)
    fit = fit_kernel(inputs[chosen], targets[chosen], rng, landmarks=landmarks)
    fitted = fit.fitted if n == len(chosen) else fit.predict(inputs)
    left_out = fitted.copy()
    left_out[chosen] = fit.left_out
    return Expectation(fitted, left_out, lambda rows: fit.predict(standard(rows)))


def _linear(standard: Callable[[Floats], Floats], features: Floats, targets: Floats) -> Expectation:
    design = with_constant(standard(features))
    coefficients = np.linalg.lstsq(design, targets, rcond=1e-10)[0]
    fitted: Floats = design @ coefficients
    own = np.minimum(leverages(basis_of(design)), 1.0)
    # Without a record of leverage 1 its left-out fit does not exist; the mean replaces it.
    alone = own > 1 - 1e-9
    rest = (targets - fitted) / np.where(alone, 1.0, 1 - own)[:, None]
    left_out: Floats = np.where(alone[:, None], targets.mean(axis=0), targets - rest)
    return Expectation(fitted, left_out, lambda rows: with_constant(standard(rows)) @ coefficients)
