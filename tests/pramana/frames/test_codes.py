"""Cells as codes and back."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.frames.codes import encode
from pramana_core.discretize import interval_labels
from pramana_core.domain import Domain, Variable
from pramana_core.errors import MissingColumn, UnknownCategory

INTERVALS = Variable("x", interval_labels((0, 1.5)))
AND_EMPTY = Variable("x", (*INTERVALS.categories, "unknown"))
DIGITS = Variable("x", ("1", "2", "3"))


def codes(variable: Variable, cells: Any, **how: bool) -> list[int]:
    return encode({"x": cells}, Domain((variable,)), "frame", **how)["x"].tolist()


@pytest.mark.slow
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_a_number_is_in_the_interval_that_holds_it(numbers: list[float]):
    wanted = [sum(number >= cut for cut in (0, 1.5)) for number in numbers]
    assert codes(INTERVALS, numbers) == wanted
    assert codes(INTERVALS, [repr(number) for number in numbers]) == wanted


@pytest.mark.parametrize(
    "cells",
    [
        [1, 2, 3],
        [1.0, 2.0, 3.0],
        ["1", " 2 ", "3"],
        np.array([1, 2, 3], dtype=np.int8),
        pd.array([1, 2, 3], dtype="Int64"),
        pd.Categorical([1, 2, 3]),
        [Decimal(1), Decimal(2), Decimal(3)],
        [np.float32(1), np.int64(2), "3"],
    ],
    ids=lambda cells: type(cells).__name__,
)
def test_numbers_stand_for_the_labels_that_are_written_so(cells: Any):
    assert codes(DIGITS, cells) == [0, 1, 2]


NOTHING = [None, np.nan, pd.NA, pd.NaT, "", "  "]


@pytest.mark.parametrize("nothing", NOTHING, ids=repr)
def test_an_empty_cell_is_no_category_unless_there_is_one_for_it(nothing: Any):
    cells = pd.Series(["1", nothing, "2"], dtype=object)
    with pytest.raises(UnknownCategory, match="empty in 1 of 3 rows"):
        codes(DIGITS, cells)
    assert codes(DIGITS, cells, missing=True) == [0, 3, 1]
    assert codes(Variable("x", ("1", "2", "(empty)")), cells) == [0, 2, 1]


def test_an_empty_report_is_withheld_whatever_the_categories():
    variable = Variable("x", ("1", "(empty)"))
    assert codes(variable, ["1", None, "(empty)"], missing=True, reported=True) == [0, 2, 1]
    assert codes(AND_EMPTY, [0.0, np.nan], missing=True, reported=True) == [1, 4]


def test_other_values_go_to_the_category_for_them():
    assert codes(Variable("x", ("1", "(other)")), ["1", "7", "x"]) == [0, 1, 1]
    with pytest.raises(UnknownCategory, match="empty in 1 of 2 rows"):
        codes(Variable("x", ("1", "(other)")), ["7", None])


def test_unknown_values_are_named_with_their_rows_and_column():
    with pytest.raises(UnknownCategory) as caught:
        codes(DIGITS, ["1", "one", "two", "three", "four", "two"])
    assert str(caught.value) == (
        "Column 'x' of frame holds 'one', 'two', 'three', ... in 5 of 6 rows; its categories are"
        " '1', '2', '3'."
    )
    assert caught.value.where == "x"


def test_columns_may_be_absent_where_they_may_be_missing():
    domain = Domain.of(x=["1", "2"], y=["1", "2"])
    assert list(encode({"x": [1]}, domain, "frame", missing=True)) == ["x"]
    with pytest.raises(MissingColumn, match="no column 'y'"):
        encode({"x": [1]}, domain, "frame")
    with pytest.raises(MissingColumn, match="no column 'x', 'y'"):
        encode({"z": [1]}, domain, "frame", missing=True)
