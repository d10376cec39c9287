"""What of a masked value is its record's own: weights and noise, against masking many times."""

from __future__ import annotations

import numpy as np
import pytest

from pramana_core.mask import egadp, gadp, ipso, nmegadp, shuffle
from pramana_core.mask.core.influence import EXPOSED, Influence, influence_of


def table(records: int = 80) -> tuple[np.ndarray, np.ndarray]:
    """S with a record far out, and X of two columns."""
    rng = np.random.default_rng(1)
    s = rng.normal(size=(records, 2))
    s[0] = 6.0, 0.0
    return s, s @ [[1.0, 2.0], [0.5, -1.0]] + rng.normal(size=(records, 2)) * [1.0, 10.0]


@pytest.mark.slow
@pytest.mark.parametrize("method", [gadp, ipso, egadp])
def test_weights_and_noise_are_those_of_masking_again(method):
    s, x = table()
    masked = method(s, x, np.random.default_rng(2))
    moved = x.copy()
    moved[0] += [1.0, 10.0]
    other = method(s, moved, np.random.default_rng(2))
    weights = (other.expectation - masked.expectation)[0] / [1.0, 10.0]
    assert masked.influence.weights[0] == pytest.approx(weights, abs=1e-9)
    draws = np.stack([method(s, x, np.random.default_rng(k)).noise for k in range(400)])
    spread = (x - masked.expectation).std(axis=0)
    # A standard deviation of 400 draws has an error of 3.5 %.
    assert draws.std(axis=0)[:8] / spread == pytest.approx(masked.influence.noises[:8], rel=0.2)


@pytest.mark.slow
def test_the_noise_of_a_kernel_fit_is_that_of_masking_again():
    rng = np.random.default_rng(3)
    s = np.concatenate([rng.normal(size=150), [5.0, 7.0]])
    x = np.cos(2 * s) + rng.normal(scale=0.5, size=152)
    masked = nmegadp(s, x, np.random.default_rng(4))
    draws = [nmegadp(s, x, np.random.default_rng(k)).noise[-10:, 0] for k in range(100, 160)]
    spread = (x - masked.expectation[:, 0]).std()
    found = np.std(draws, axis=0) / spread
    assert found == pytest.approx(masked.influence.noises[-10:, 0], rel=0.4)
    assert masked.influence.noises.min() > 0.5


def test_what_is_told_goes_by_weight_and_noise():
    influence = Influence(np.array([[0.4], [0.4], [0.0]]), np.array([[1.0], [0.1], [0.0]]))
    assert influence.told == pytest.approx([0.16 / 1.16, 0.16 / 0.17, 0.0])
    assert influence.exposed.tolist() == [False, True, False]
    assert influence.order.tolist() == [1, 0, 2]
    assert influence.stated == 0.4
    (said,) = influence.warnings
    # Of such a weight it would not be named, but for its little noise.
    assert said.startswith("1 record has little noise: its masked value moves by 40% of a change")
    assert "under 10% of the usual noise" in said
    alone = Influence(
        np.array([[0.4], [0.7], [0.6], [0.0]]), np.array([[0.1], [1.0], [1.0], [1.0]])
    )
    first, second = alone.warnings
    assert first.startswith(
        "2 records stand nearly alone in S: their masked values move by as much"
    )
    assert second.startswith("1 record has little noise")


def test_the_column_of_which_most_is_told_counts():
    influence = Influence(np.array([[0.1, 0.5]]), np.array([[1.0, 0.5]]))
    assert (influence.columns[0], influence.own[0], influence.noise[0]) == (1, 0.5, 0.5)
    assert influence.told[0] == 0.5
    assert influence_of(np.zeros(5)).noise.tolist() == [1.0] * 5
    assert not influence_of(np.zeros(5)).warnings


def test_shuffled_values_have_the_influence_of_what_they_are_ordered_by():
    s, x = table()
    masked = shuffle(s, x, np.random.default_rng(5))
    assert masked.influence.weights.shape == (80, 2)
    assert 0 < masked.influence.own.max() < 1
    assert masked.influence.told.max() < EXPOSED
