"""What of a masked value is its record's own: weights and noise, against masking many times."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pramana_core.errors import MaskingError
from pramana_core.mask import METHODS
from pramana_core.mask.core.influence import Influence

egadp, gadp, ipso, nmegadp, shuffle = (
    METHODS[name] for name in ("egadp", "gadp", "ipso", "nmegadp", "shuffle")
)


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
    draws = np.stack([method(s, x, np.random.default_rng(k)).noise for k in range(200)])
    spread = (x - masked.expectation).std(axis=0)
    # A standard deviation of 200 draws has an error of 5 %.
    assert draws.std(axis=0)[:8] / spread == pytest.approx(masked.influence.noises[:8], rel=0.25)


def test_what_is_told_goes_by_weight_and_noise():
    influence = Influence(np.array([[0.4], [0.4], [0.0]]), np.array([[1.0], [0.1], [0.0]]))
    assert influence.told == pytest.approx([0.16 / 1.16, 0.16 / 0.17, 0.0])
    assert influence.exposed.tolist() == [False, True, False]
    assert influence.order.tolist() == [1, 0, 2]
    assert influence.stated == 0.4
    (said,) = influence.warnings
    # Of such a weight it would not be named, but for its little noise.
    assert said.startswith("1 record has little noise: its masked value moves by 40% of a change")
    assert "with 10% of the usual noise" in said
    alone = Influence(
        np.array([[0.4], [0.7], [0.6], [0.0]]), np.array([[0.1], [1.0], [1.0], [1.0]])
    )
    first, second = alone.warnings
    assert first.startswith(
        "2 records stand nearly alone in S: their masked values move by as much"
    )
    assert second.startswith("1 record has little noise")


# Warnings of records that stand nearly alone, and of relations with much freedom.


def heavy_table(weight: float, records: int = 60) -> tuple[Any, Any]:
    """S of one record far out, such that its own value weighs about so much, and X."""
    rng = np.random.default_rng(1)
    s = rng.normal(size=records)
    s[0] = np.sqrt(weight / (1 - weight) * records)
    return s, rng.normal(size=(records, 2))


@pytest.mark.parametrize("method", [egadp, nmegadp])
def test_records_that_decide_most_of_their_prediction_are_warned_of_then_refused(method: Any):
    s, x = heavy_table(0.65)
    masked = method(s, x, np.random.default_rng(2))
    assert 0.5 < masked.details["largest_leverage"] < 0.8
    assert [w for w in masked.warnings if "nearly alone" in w] == [
        w for w in masked.warnings if w.startswith("1 record stands nearly alone in S: its masked")
    ]
    assert sum("nearly alone" in w for w in masked.warnings) == 1
    s, x = heavy_table(0.3)
    plain = method(s, x, np.random.default_rng(2))
    assert not any("nearly alone" in w for w in plain.warnings)
    with pytest.raises(MaskingError):
        method(*heavy_table(0.9), np.random.default_rng(2))
    with pytest.raises(MaskingError):
        method(*heavy_table(0.65), np.random.default_rng(2), max_leverage=0.5)
