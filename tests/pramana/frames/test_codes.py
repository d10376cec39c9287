"""Cells as codes and back."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.frames.codes import decode, encode
from pramana_core.discretize import interval_labels
from pramana_core.domain import Domain, Variable
from pramana_core.errors import MissingColumn, UnknownCategory

INTERVALS = Variable("x", interval_labels((0, 1.5)))
AND_EMPTY = Variable("x", (*INTERVALS.categories, "unknown"))
DIGITS = Variable("x", ("1", "2", "3"))


def codes(variable: Variable, cells: Any, **how: bool) -> list[int]:
    return encode({"x": cells}, Domain((variable,)), "frame", **how)["x"].tolist()


words = st.text(st.characters(codec="utf-8", exclude_categories=("Z", "C")), min_size=1, max_size=8)


@st.composite
def coded(draw: st.DrawFn) -> tuple[Domain, dict[str, np.ndarray[Any, Any]]]:
    names = draw(st.lists(words, min_size=1, max_size=4, unique=True))
    made = []
    for name in names:
        labels = draw(st.lists(words, min_size=2, max_size=6, unique=True))
        if draw(st.booleans()):
            cuts = draw(st.lists(st.integers(-50, 50), min_size=1, max_size=5, unique=True))
            labels = list(interval_labels(tuple(sorted(cuts))))
        made.append(Variable(name, tuple(labels)))
    rows = draw(st.integers(1, 20))
    columns = {
        v.name: np.array(draw(st.lists(st.integers(0, v.size - 1), min_size=rows, max_size=rows)))
        for v in made
    }
    return Domain(tuple(made)), columns


@pytest.mark.slow
@given(coded())
def test_labels_of_codes_are_read_as_these_codes(
    table: tuple[Domain, dict[str, np.ndarray[Any, Any]]],
):
    domain, columns = table
    normal = Domain(tuple(v for v in domain if _told_apart(v)))
    frame = decode(columns, domain)
    if len(normal):
        again = encode(frame, normal, "frame")
        assert all(again[v.name].tolist() == columns[v.name].tolist() for v in normal)


def _told_apart(variable: Variable) -> bool:
    """Labels that only their encoding tells apart are one."""
    import unicodedata

    labels = {unicodedata.normalize("NFC", label) for label in variable.categories}
    return len(labels) == variable.size


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


@pytest.mark.parametrize("labels", [("False", "True"), ("false", "true"), ("0", "1")])
def test_truth_is_written_in_three_ways(labels: tuple[str, ...]):
    assert codes(Variable("x", labels), [True, False]) == [1, 0]
    assert codes(Variable("x", labels), pd.array([True, False], dtype="boolean")) == [1, 0]


def test_dates_are_read_as_text():
    days = Variable("x", ("2024-01-01", "2024-01-02"))
    moments = pd.to_datetime(["2024-01-02", "2024-01-01"])
    assert codes(days, moments) == codes(days, [date(2024, 1, 2), date(2024, 1, 1)]) == [1, 0]


NOTHING = [None, np.nan, pd.NA, pd.NaT, "", "  "]


@pytest.mark.parametrize("nothing", NOTHING, ids=repr)
def test_an_empty_cell_is_no_category_unless_there_is_one_for_it(nothing: Any):
    cells = pd.Series(["1", nothing, "2"], dtype=object)
    with pytest.raises(UnknownCategory, match="empty in 1 of 3 rows"):
        codes(DIGITS, cells)
    assert codes(DIGITS, cells, missing=True) == [0, 3, 1]
    assert codes(Variable("x", ("1", "2", "(empty)")), cells) == [0, 2, 1]


@pytest.mark.parametrize(
    "cells", [[-1.0, np.nan, 9.0], pd.array([-1, None, 9], dtype="Int64"), ["-1", None, "9"]]
)
def test_a_missing_number_is_in_no_interval(cells: Any):
    with pytest.raises(UnknownCategory, match="empty in 1 of 3 rows"):
        codes(INTERVALS, cells)
    assert codes(INTERVALS, cells, missing=True) == [0, 3, 2]
    assert codes(AND_EMPTY, cells) == codes(AND_EMPTY, cells, missing=True) == [0, 3, 2]


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


def test_a_wide_table_and_a_long_one():
    rng = np.random.default_rng(1)
    wide = {f"v{i}": rng.integers(0, 9, 500) for i in range(200)}
    domain = Domain.of(**{name: [str(code) for code in range(9)] for name in wide})
    found = encode(wide, domain, "frame")
    assert all((found[name] == column).all() for name, column in wide.items())
    long = rng.integers(0, 3, 1_000_000)
    assert np.array_equal(encode({"x": long + 1}, Domain((DIGITS,)), "frame")["x"], long)


def test_a_number_is_its_label_with_or_without_a_point():
    assert codes(Variable("x", ("1.0", "2.5")), [1.0, 2.5]) == [0, 1]
    assert codes(Variable("x", ("1", "2.5")), [1.0, 2.5]) == [0, 1]
