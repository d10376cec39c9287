"""How far two tables' moments are apart: computed column by column, in long doubles."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Wide = npt.NDArray[np.longdouble]


def centred(matrix: npt.ArrayLike) -> tuple[Wide, Wide]:
    """The columns less their means, each of length 1, and the means."""
    wide = np.asarray(matrix, dtype=np.longdouble)
    wide = wide.reshape(len(wide), -1)
    means = wide.mean(axis=0)
    rest = wide - means
    largest = np.abs(rest).max(axis=0)
    rest = rest / np.where(largest > 0, largest, 1)
    lengths = np.sqrt((rest**2).sum(axis=0))
    return rest / np.where(lengths > 0, lengths, 1), means


def lengths(matrix: npt.ArrayLike) -> Wide:
    """The square roots of the columns' sums of squares about their means."""
    wide = np.asarray(matrix, dtype=np.longdouble)
    wide = wide.reshape(len(wide), -1)
    rest = wide - wide.mean(axis=0)
    largest = np.abs(rest).max(axis=0)
    return largest * np.sqrt(((rest / np.where(largest > 0, largest, 1)) ** 2).sum(axis=0))


def covariance_difference(told: npt.ArrayLike, x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """The largest difference of covariances of (S, Y) and (S, X), relative to the deviations of
    the two columns in (S, X)."""
    n = len(np.asarray(x))
    first, second = (
        np.column_stack([np.asarray(told, dtype=np.longdouble).reshape(n, -1), m.reshape(n, -1)])
        for m in (np.asarray(x, dtype=np.longdouble), np.asarray(y, dtype=np.longdouble))
    )
    units, _ = centred(first)
    others, _ = centred(second)
    before, after = lengths(first), lengths(second)
    ratio = after / np.where(before > 0, before, 1)
    return float(np.abs(units.T @ units - (others * ratio).T @ (others * ratio)).max())


def mean_difference(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """The largest difference of means, in standard deviations of X."""
    n = len(np.asarray(x))
    apart = centred(y)[1] - centred(x)[1]
    return float(np.abs(apart / lengths(x) * np.sqrt(n)).max())


def correlation(one: npt.ArrayLike, other: npt.ArrayLike) -> float:
    """The largest correlation of a column of one table with one of the other, as a number >= 0."""
    return float(np.abs(centred(one)[0].T @ centred(other)[0]).max())
