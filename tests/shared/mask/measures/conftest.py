"""A small table with a hump, and versions of it that tell nothing, something and all."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from pramana_core.mask.core.noise import exact_noise
from pramana_core.mixed import basis_of, residual, with_constant

Floats = npt.NDArray[np.float64]
Table = tuple[Floats, Floats]


def _humped(seed: int, records: int = 400) -> Table:
    """S: an age and a group. X: a hump over age, and a column linear in it."""
    rng = np.random.default_rng(seed)
    age, group = rng.uniform(-1, 1, records), rng.integers(0, 2, records)
    first = 3 - 4 * age**2 + group + 0.5 * rng.standard_normal(records)
    second = first + rng.standard_normal(records)
    return np.column_stack([age, group]), np.column_stack([first, second])


def _independent(table: Table, seed: int) -> Floats:
    """Y with the true curve and exact noise: all relationships kept, nothing beyond S told."""
    told, true = table
    curve = 3 - 4 * told[:, :1] ** 2 + told[:, 1:]
    expected = np.column_stack([curve, curve])
    basis = basis_of(with_constant(np.column_stack([told, true, expected])))
    rest = residual(true - expected, basis_of(np.ones((len(true), 1))))
    return expected + exact_noise(np.random.default_rng(seed), basis, rest)


def _noisy(table: Table, seed: int) -> Floats:
    """Y = X + noise of half of X's variance: it tells of X."""
    true = table[1]
    noise = np.random.default_rng(seed).standard_normal(true.shape)
    return true + np.sqrt(0.5) * true.std(axis=0) * noise


@pytest.fixture
def humped() -> Callable[..., Table]:
    """`(seed, records=400)`: S and X."""
    return _humped


@pytest.fixture
def independent() -> Callable[[Table, int], Floats]:
    """`(table, seed)`: Y that tells nothing beyond S."""
    return _independent


@pytest.fixture
def noisy() -> Callable[[Table, int], Floats]:
    """`(table, seed)`: the negative control of every measure of security."""
    return _noisy
