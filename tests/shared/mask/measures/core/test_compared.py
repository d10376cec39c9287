"""S, X and Y of the same records: arrays, frames, categories, and what does not go together."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pramana_core.errors import EmptyTable, MaskingError, TableError
from pramana_core.mask.measures.core.compared import compared

N = 20
NUMBERS = np.random.default_rng(1).standard_normal((N, 2))


def test_arrays_are_alike_in_order():
    found = compared(NUMBERS[:, 0], NUMBERS, NUMBERS + 1)
    assert found.alike
    assert found.labels == ("X1", "X2")
    assert found.true == pytest.approx(NUMBERS)
    assert found.masked == pytest.approx(NUMBERS + 1)


def test_frames_are_alike_by_name():
    x = pd.DataFrame(NUMBERS, columns=["a", "b"])
    found = compared(None, x, (x + 1)[["b", "a"]])
    assert found.masked == pytest.approx(NUMBERS + 1)
    assert found.told.shape == (N, 0)
    assert found.basis.shape == (N, 1)


def test_categories_of_either_have_one_indicator_each():
    x = pd.DataFrame({"a": ["u", "v"] * 10})
    y = pd.DataFrame({"a": ["v", "w"] * 10})
    found = compared(None, x, y)
    assert found.alike
    assert found.labels == ("a=v",)
    assert found.true[:2, 0] == pytest.approx([0, 1])
    assert found.masked[:2, 0] == pytest.approx([1, 0])
    assert found.numeric == ()
    assert found.true_places("a") == [0]


def test_other_columns_are_not_alike():
    found = compared(None, NUMBERS, pd.DataFrame({"group": ["u", "v"] * 10}))
    assert not found.alike
    assert found.masked.shape == (N, 1)


def test_redundant_columns_of_s_are_told_once():
    s = pd.DataFrame({"a": NUMBERS[:, 0], "b": 2 * NUMBERS[:, 0], "c": 1.0})
    found = compared(s, NUMBERS, NUMBERS)
    assert found.told_labels == ("a",)
    assert found.told_places("b") == found.told_places("c") == []


@pytest.mark.parametrize(
    ("s", "x", "y", "error", "words"),
    [
        (NUMBERS[:5], NUMBERS, NUMBERS, TableError, "S has 5 records and X has 20"),
        (None, NUMBERS, NUMBERS[:5], TableError, "Y has 5 records and X has 20"),
        (None, NUMBERS[:9], NUMBERS[:9], MaskingError, "at least 10"),
        (None, np.ones((N, 1)), NUMBERS, MaskingError, "No column of X varies"),
        (None, NUMBERS[:0], NUMBERS[:0], EmptyTable, "no records"),
        (None, NUMBERS, np.full((N, 2), np.nan), TableError, "missing"),
    ],
)
def test_what_cannot_be_compared_is_refused(s, x, y, error, words):
    with pytest.raises(error, match=words):
        compared(s, x, y)
