"""Squares and products that a smooth fit lost are added, and chance adds none."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pramana_core.mask import nmegadp
from pramana_core.mask.core.inputs import inputs
from pramana_core.mask.methods.squares import no_squares, squares_left


def left(seed: int, slope: float) -> tuple[str, ...]:
    """What is found in residuals from lines; X has a slope in age squared."""
    rng = np.random.default_rng(seed)
    s = pd.DataFrame(
        {"age": rng.normal(size=300), "size": rng.normal(size=300), "sex": list("fm") * 150}
    )
    given = inputs(s, slope * s["age"] ** 2 + rng.normal(size=300) * (1 + s["age"].abs()))
    return squares_left(
        given, given.standard - given.standard_residuals, given.standard_residuals
    ).names


def test_a_square_is_found_and_chance_finds_hardly_any():
    assert left(1, 1.0) == ("age squared",)
    # Three candidates by 40 tables, each with a chance of 1 in 16,000.
    assert sum(bool(left(seed, 0.0)) for seed in range(40)) <= 1


def test_a_product_is_found_by_its_names():
    rng = np.random.default_rng(2)
    s = rng.normal(size=(400, 2))
    given = inputs(s, s[:, 0] * s[:, 1] + rng.normal(size=400))
    found = squares_left(given, given.standard * 0, given.standard_residuals)
    assert found.names == ("S1 times S2",)
    assert found.basis.shape == (400, 1)
    assert np.abs(given.basis.T @ found.basis).max() < 1e-9
    assert no_squares(given).basis.shape == (400, 0)


@pytest.mark.slow
def test_a_weak_square_beside_humps_keeps_its_slope():
    """The fit of the second column is a line by its errors; its square was lost to .08."""
    rng = np.random.default_rng(0)
    s = rng.normal(size=(1500, 3))
    hump = sum(2 * np.exp(-2 * (s[:, 0] - at) ** 2) for at in (-1.2, 1.2))
    x = np.column_stack([hump, 0.5 * s[:, 2]]) + 0.15 * s[:, [1]] ** 2
    uneven = np.abs(s[:, [0]])
    x += rng.normal(size=(1500, 2)) * (np.array([0.3, 0.6]) + 0.4 * uneven)
    masked = nmegadp(s, x, np.random.default_rng(1))
    assert "S2 squared" in masked.details["squares"]
    design = np.column_stack([np.ones(1500), s, s[:, 1] ** 2])
    true, found = (np.linalg.lstsq(design, v)[0][-1] for v in (x, masked.matrix))
    assert found / true == pytest.approx([1, 1], abs=1e-6)
