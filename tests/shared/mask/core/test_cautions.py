"""Warnings of records that stand nearly alone, and of relations with much freedom."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pramana_core.errors import MaskingError
from pramana_core.mask import egadp, nmegadp
from pramana_core.mask.core.cautions import Caution, Gravity, gravest_first


def table(weight: float, records: int = 60) -> tuple[Any, Any]:
    """S of one record far out, such that its own value weighs about so much, and X."""
    rng = np.random.default_rng(1)
    s = rng.normal(size=records)
    s[0] = np.sqrt(weight / (1 - weight) * records)
    return s, rng.normal(size=(records, 2))


@pytest.mark.parametrize("method", [egadp, nmegadp])
def test_records_that_decide_most_of_their_prediction_are_warned_of_then_refused(method: Any):
    s, x = table(0.65)
    masked = method(s, x, np.random.default_rng(2))
    assert 0.5 < masked.details["largest_leverage"] < 0.8
    assert [w for w in masked.warnings if "nearly alone" in w] == [
        w for w in masked.warnings if w.startswith("1 record stands nearly alone in S: its masked")
    ]
    assert sum("nearly alone" in w for w in masked.warnings) == 1
    s, x = table(0.3)
    plain = method(s, x, np.random.default_rng(2))
    assert not any("nearly alone" in w for w in plain.warnings)
    with pytest.raises(MaskingError, match="would weigh more than 0.8"):
        method(*table(0.9), np.random.default_rng(2))
    with pytest.raises(MaskingError, match=r"would weigh more than 0\.5"):
        method(*table(0.65), np.random.default_rng(2), max_leverage=0.5)


def test_the_gravest_caution_comes_first_and_each_once():
    plain, note = "plain", Caution("note", Gravity.NOTE)
    grave = [Caution(f"grave {k}", Gravity.GRAVE) for k in range(2)]
    found = gravest_first([note, plain, grave[0], plain, grave[1]])
    assert found == ("grave 0", "grave 1", "plain", "note")
    s, x = table(0.65)
    s = np.column_stack([np.ones(60), s])
    first, *_, last = egadp(s, x, np.random.default_rng(2)).warnings
    assert first.startswith("1 record stands nearly alone")
    assert last.endswith("were left out.")


def test_much_freedom_is_warned_of():
    rng = np.random.default_rng(3)
    s, x = rng.normal(size=(200, 30)), rng.normal(size=(200, 1))
    masked = nmegadp(s, x, np.random.default_rng(4))
    assert masked.details["freedom"] == pytest.approx(31)
    assert any("31 effective parameters for 200 records" in w for w in masked.warnings)
    few = nmegadp(s[:, :3], x, np.random.default_rng(4))
    assert not any("effective parameters" in w for w in few.warnings)
