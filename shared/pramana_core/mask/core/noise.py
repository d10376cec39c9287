"""Noise with a given covariance, in expectation or exactly (EGADP)."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from pramana_core.errors import OptionError
from pramana_core.mixed import Floats, residual


class Randomness(Protocol):
    """The methods of numpy's `Generator` that masking uses. Owners pass a keyed generator."""

    def standard_normal(self, size: Any = None) -> npt.NDArray[Any]:
        """Return independent standard normal numbers of the given shape."""
        ...

    def random(self, size: Any = None) -> npt.NDArray[Any]:
        """Return independent uniform numbers in [0, 1) of the given shape."""
        ...

    def permutation(self, x: int) -> npt.NDArray[Any]:
        """Return the integers below `x` in uniformly random order."""
        ...


def require_randomness(rng: Any) -> None:
    """Raise OptionError unless an object has the methods of `Randomness`."""
    if not hasattr(rng, "standard_normal") or not hasattr(rng, "permutation"):
        raise OptionError(
            f"rng must be a random generator such as numpy's, not {type(rng).__name__}.",
            where="rng",
        )


def normal_noise(rng: Randomness, records: int, root: Floats) -> Floats:
    """Return n independent normal records with covariance root'root, n x q."""
    found: Floats = rng.standard_normal((records, len(root))) @ root
    return found


def exact_noise(rng: Randomness, basis: Floats, like: Floats) -> Floats:
    """Return noise e, n x q, that is orthogonal to a basis and satisfies e'e = like'like.

    The basis is orthonormal, n x k. It must span the constant, so that e has mean zero. The noise
    is e = b Sb^(-1/2) Sr^(1/2), where b are the residuals of a random normal matrix V regressed on
    the basis, Sb = b'b and Sr = like'like (AlAhmadi, list of symbols; Muralidhar and Sarathy 2005).
    """
    return made_exact(rng.standard_normal((len(basis), like.shape[1])), basis, like)


def made_exact(drawn: Floats, basis: Floats, like: Floats) -> Floats:
    """Return the drawn noise, n x q, transformed so that it is as exact as `exact_noise`."""
    # One root serves columns of very different scales, so each is first divided by its length.
    scale = _lengths(like)
    white = residual(drawn / _lengths(drawn), basis)
    # The second whitening corrects the rounding errors of the first.
    white = _orthonormal(residual(_orthonormal(white / _lengths(white)), basis))
    found: Floats = (white @ symmetric_root(like / scale)) * scale
    return found


def symmetric_root(like: Floats) -> Floats:
    """Return the symmetric square root of like'like, q x q, to full precision."""
    _, values, vectors = np.linalg.svd(np.linalg.qr(like, mode="r"), full_matrices=False)
    found: Floats = (vectors.T * values) @ vectors
    return found


def _lengths(values: Floats) -> Floats:
    largest = np.max(np.abs(values), axis=0, initial=0.0)
    largest = np.where(largest > 0, largest, 1.0)
    lengths = np.linalg.norm(values / largest, axis=0)
    found: Floats = largest * np.where(lengths > 0, lengths, 1.0)
    return found


def _orthonormal(values: Floats) -> Floats:
    """Return values (values'values)^(-1/2), the orthonormal polar factor, n x q."""
    q, r = np.linalg.qr(values)
    left, _, right = np.linalg.svd(r)
    found: Floats = q @ (left @ right)
    return found
