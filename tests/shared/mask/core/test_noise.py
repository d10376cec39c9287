"""Noise with an exact covariance, orthogonal to a basis."""

from __future__ import annotations

import numpy as np
import pytest

from pramana_core.errors import OptionError
from pramana_core.mask.core.noise import exact_noise, made_exact, require_randomness, symmetric_root
from pramana_core.mixed.design import basis_of

RNG = np.random.default_rng(1)
BASIS = basis_of(np.column_stack([np.ones(50), RNG.normal(size=(50, 4))]))
LIKE = RNG.normal(size=(50, 3)) @ RNG.normal(size=(3, 3))


def test_noise_is_as_told():
    noise = exact_noise(np.random.default_rng(2), BASIS, LIKE)
    np.testing.assert_allclose(noise.T @ noise, LIKE.T @ LIKE, rtol=1e-12)
    np.testing.assert_allclose(BASIS.T @ noise, 0, atol=1e-12)


def test_any_root_of_the_cross_products_will_do():
    root = np.linalg.cholesky(LIKE.T @ LIKE).T
    first, second = (exact_noise(np.random.default_rng(2), BASIS, like) for like in (LIKE, root))
    np.testing.assert_allclose(first, second, rtol=1e-9)


def test_noise_is_made_by_the_formula():
    """b Sb^(-1/2) Sr^(1/2), the columns of b and r in units of their lengths."""
    like = LIKE / np.linalg.norm(LIKE, axis=0)
    b = np.random.default_rng(2).standard_normal((50, 3))
    b -= BASIS @ (BASIS.T @ b)
    b /= np.linalg.norm(b, axis=0)

    def power(matrix, exponent):
        values, vectors = np.linalg.eigh(matrix)
        return vectors * values**exponent @ vectors.T

    expected = b @ power(b.T @ b, -0.5) @ power(like.T @ like, 0.5)
    found = exact_noise(np.random.default_rng(2), BASIS, like)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("scales", [[1, 1, 1], [1e-200, 1, 1e90], [0, 1, 1], [0, 0, 0]])
def test_scales_do_not_matter(scales):
    noise = exact_noise(np.random.default_rng(2), BASIS, LIKE * scales)
    plain = exact_noise(np.random.default_rng(2), BASIS, LIKE * (np.array(scales) > 0))
    np.testing.assert_allclose(noise, plain * scales, rtol=1e-9)


def test_what_nearly_has_the_cross_products_changes_little():
    drawn = exact_noise(np.random.default_rng(2), BASIS, LIKE)
    nearly = drawn + 1e-6 * np.random.default_rng(3).normal(size=drawn.shape)
    np.testing.assert_allclose(made_exact(drawn, BASIS, LIKE), drawn, atol=1e-12)
    np.testing.assert_allclose(made_exact(nearly, BASIS, LIKE), drawn, atol=1e-4)


def test_the_root_is_symmetric():
    root = symmetric_root(LIKE)
    np.testing.assert_allclose(root, root.T, atol=1e-12)
    np.testing.assert_allclose(root @ root, LIKE.T @ LIKE, rtol=1e-12)
    wide = symmetric_root(LIKE[:2])
    np.testing.assert_allclose(wide @ wide, LIKE[:2].T @ LIKE[:2], atol=1e-12)


def test_a_seed_is_no_randomness():
    require_randomness(np.random.default_rng(1))
    with pytest.raises(OptionError, match="rng must be a random generator such as numpy's, not in"):
        require_randomness(1)
