"""How much additive noise gives a snooper a chosen gain: methods are compared at equal risk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from pramana_core.errors import OptionError
from pramana_core.kernel_regression.fitting import fit_kernel
from pramana_core.kernel_regression.options import KernelOptions
from pramana_core.mask.core.inputs import Inputs, inputs
from pramana_core.mask.core.randomness import Randomness
from pramana_core.mixed.table import Floats

Snooper = Literal["lines-only", "kernel"]

LANDMARKS = 200
MOST_RECORDS = 5000
HALVINGS = 100

LEAST, MOST = 1e-6, 1e6
"""Between which shares of variance noise is sought; also what the methods take."""


def expected_gain(method: str, noise: float, rest: Floats, whole: Floats) -> float:
    """Return a snooper's gain by the released values of a method of additive noise.

    With S known, R is the covariance of what S does not tell of X, C that of X, and N that of the
    noise: noise * diag(C) for SADP and noise * C for CADP. The best linear prediction of X from S
    and Y then explains, of column j, the share (R (R + N)^-1 R)_jj / C_jj more than S alone. The
    gain is its mean over the columns.

    Args:
        method: "sadp" or "cadp".
        noise: the variance of the noise as a share of X's.
        rest: R, q x q.
        whole: C, q x q.
    """
    added = noise * (np.diag(np.diag(whole)) if method == "sadp" else whole)
    explained = rest @ np.linalg.pinv(rest + added, hermitian=True) @ rest
    return float(np.mean(np.diag(explained) / np.diag(whole)))


def noise_for_gain(
    method: str,
    S: Any,  # noqa: N803 - the papers' names
    X: Any,  # noqa: N803
    gain: float,
    rng: Randomness,
    *,
    snooper: Snooper = "kernel",
) -> float:
    """Return the `noise` of SADP or CADP with which a snooper gains a chosen share of R2.

    Args:
        method: "sadp" or "cadp".
        S: the non-confidential columns, n x p numbers or a frame; None for none.
        X: the confidential columns, n x q numbers or a frame.
        gain: how much more of X's variance S and Y explain than S alone, the mean over columns.
        rng: draws the records that the kernel is made of.
        snooper: whether S's part is taken out by a line or by a kernel fit.

    Returns:
        The variance of the noise as a share of each column's.

    Raises:
        OptionError: no noise gives this gain; another method has no noise to choose.
        TableError, MaskingError: see `inputs`.
    """
    if method not in ("sadp", "cadp"):
        raise OptionError(f"Method {method!r} has no noise to choose.", where="method")
    given = inputs(S, X)
    whole = np.cov(given.standard, rowvar=False, ddof=0).reshape(given.columns, given.columns)
    rest = unexplained(given, rng, snooper)
    return _solved(lambda noise: expected_gain(method, noise, rest, whole), gain)


def most_gain(given: Inputs, rng: Randomness, snooper: Snooper = "kernel") -> float:
    """Return what a snooper gains by X itself: the mean share of it that S does not tell."""
    return float(np.mean(np.diag(unexplained(given, rng, snooper))))


def unexplained(given: Inputs, rng: Randomness, snooper: Snooper) -> Floats:
    """Return the covariance of what S does not tell of the standardized X: q x q."""
    rest = given.standard_residuals
    if snooper == "kernel" and given.told.shape[1]:
        chosen = np.arange(given.records)
        if given.records > MOST_RECORDS:
            chosen = rng.permutation(given.records)[:MOST_RECORDS]
        target = given.standard[chosen]
        fit = fit_kernel(given.told[chosen], target, KernelOptions(landmarks=LANDMARKS), rng)
        rest = target - fit.left_out
    found: Floats = rest.T @ rest / len(rest)
    return found


def _solved(gain_of: Callable[[float], float], gain: float) -> float:
    """Return the noise with a gain, by halving the interval of its logarithm."""
    low, high = np.log(LEAST), np.log(MOST)
    if not gain_of(MOST) < gain < gain_of(LEAST):
        raise OptionError(
            f"A gain of {gain:g} cannot be reached by noise; it must lie between"
            f" {gain_of(MOST):.2g} and {gain_of(LEAST):.3f}.",
            where="gain",
        )
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if gain_of(float(np.exp(middle))) > gain else (low, middle)
    return float(np.exp((low + high) / 2))
