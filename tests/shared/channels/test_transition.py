"""Transition matrices: exact stochasticity, no accuracy given away."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pramana_core.channels import RESOLUTION, Dense, Symmetric, Transition
from pramana_core.errors import ChannelError, SingularChannel


def test_rows_are_exact_integers_over_two_to_the_32(channel: Transition):
    units = channel.units()
    assert units.dtype == np.int64
    assert units.min() >= 0
    assert units.sum(axis=1).tolist() == [2**32] * channel.shape[0]
    assert np.array_equal(channel.matrix() * 2**32, units)


@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(2, 6), st.integers(2, 6)),
        elements=st.floats(1e-6, 1.0),
    )
)
def test_quantization_moves_no_probability_by_a_unit(weights: np.ndarray):
    rows = weights / weights.sum(axis=1, keepdims=True)
    units = Dense.from_probabilities(rows.tolist()).units()
    assert (units.sum(axis=1) == RESOLUTION).all()
    assert np.abs(units - rows * RESOLUTION).max() <= 1
    assert (units > 0).all()


@given(st.integers(2, 10**7), st.floats(1.0, 1e6))
def test_gamma_is_never_exceeded_and_no_accuracy_is_given_away(size: int, gamma: float):
    asked = Fraction(gamma)
    inexpressible = (asked - 1) * RESOLUTION < size * (asked + size)
    try:
        channel = Symmetric.from_gamma(size, gamma)
    except ChannelError:
        assert inexpressible, "refused without need"
        return
    assert channel.off_units <= channel.keep_units <= asked * channel.off_units
    finer = channel.off_units - 1
    assert RESOLUTION - (size - 1) * finer > asked * finer, "one unit less would exceed gamma"


@pytest.mark.parametrize(
    "singular",
    [
        Symmetric.from_probability(2, 0.5),
        Dense.from_probabilities([[0.3, 0.7], [0.3, 0.7]]),
        Dense.from_probabilities([[0.5, 0.3, 0.2], [0.1, 0.5, 0.4], [0.3, 0.4, 0.3]]),
        Dense.from_probabilities([[0.5, 0.5], [0.1, 0.9], [0.3, 0.7]]),
        Dense.from_probabilities([[0.5, 0.3, 0.1, 0.1], [0.5, 0.3, 0.1, 0.1]]),
    ],
)
def test_a_singular_channel_exists_but_has_no_inverse(singular: Transition):
    counts = np.ones(singular.shape[0])
    assert singular.apply(counts, 0).sum() == pytest.approx(singular.shape[0])
    for act in (singular.solve, singular.solve_adjoint, singular.solve_square):
        with pytest.raises(SingularChannel):
            act(np.ones(singular.shape[1]), 0)
