"""Tables as matrices: indicators, standardized columns, what is left out, bases."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pramana_core.mixed import (
    basis_of,
    design_of,
    leverages,
    read_mixed,
    residual,
    standardized,
    with_constant,
)

RNG = np.random.default_rng(5)
N = 200
FRAME = pd.DataFrame(
    {
        "age": RNG.uniform(20, 60, N),
        "town": pd.Categorical(RNG.choice(["b", "c", "d"], N), categories=["a", "b", "c", "d"]),
        "year": 2006,
        "months": 0.0,
    }
)
FRAME["months"] = 12 * FRAME["age"]


def test_a_design_says_what_it_left_out():
    design = design_of(read_mixed(FRAME))
    assert design.labels == ("age", "town=b", "town=c")
    assert design.constant == ("year",)
    # Nobody lives in "a", so that one of the other three towns is told by two of them.
    assert design.redundant == ("town=d", "months")


def test_the_matrix_is_standardized():
    matrix = design_of(read_mixed(FRAME)).matrix
    np.testing.assert_allclose(matrix.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(matrix.std(axis=0), 1, rtol=1e-12)


@pytest.mark.parametrize("factor", [1e-300, 1e-9, 1, 1e90])
@pytest.mark.parametrize("offset", [0, 1e6])
def test_standardizing(factor: float, offset: float):
    plain = np.random.default_rng(1).normal(size=(100, 2))
    matrix = factor * (plain + offset)
    found, centres, scales = standardized(matrix)
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-14)
    np.testing.assert_allclose((found**2).mean(axis=0), 1, rtol=1e-12)
    np.testing.assert_allclose(centres + found * scales, matrix, rtol=1e-12)
    np.testing.assert_allclose(scales / factor, plain.std(axis=0), rtol=1e-8)


def test_a_basis_is_orthonormal_and_spans():
    matrix = np.random.default_rng(1).normal(size=(50, 4)) * [1e-9, 1, 1e9, 1]
    matrix = np.column_stack([matrix, matrix[:, 0] * 3, np.zeros(50)])
    basis = basis_of(matrix)
    assert basis.shape == (50, 4)
    np.testing.assert_allclose(basis.T @ basis, np.eye(4), atol=1e-14)
    scale = np.abs(matrix).max(axis=0) + 1e-300
    np.testing.assert_allclose(residual(matrix / scale, basis), 0, atol=1e-12)
    assert basis_of(np.zeros((5, 2))).shape == (5, 0)
    assert basis_of(np.empty((5, 0))).shape == (5, 0)
    assert basis_of(np.random.default_rng(1).normal(size=(3, 5))).shape == (3, 3)


def test_leverages_are_the_diagonal_of_the_hat_matrix():
    design = with_constant(np.random.default_rng(1).normal(size=(30, 3)))
    hat = design @ np.linalg.solve(design.T @ design, design.T)
    np.testing.assert_allclose(leverages(basis_of(design)), np.diag(hat), rtol=1e-12)
    assert leverages(basis_of(design)).sum() == pytest.approx(4)
