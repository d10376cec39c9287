"""Columns and tables of numbers and categories."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pramana_core.errors import EmptyTable, MissingColumn, TableError
from pramana_core.mixed import (
    CategoricalColumn,
    MixedTable,
    NumericColumn,
    read_mixed,
    without_variation,
)

AGE = NumericColumn("age", np.array([20.0, 30.0, 40.0]))
TOWN = CategoricalColumn("town", np.array([1, 0, 1]), ("north", "south"))
TABLE = MixedTable((AGE, TOWN), 3)


def test_a_table_answers_by_name():
    assert TABLE.names == ("age", "town")
    assert TABLE.numeric == ("age",)
    assert TABLE["age"] is AGE
    assert TABLE.project(["town"]).names == ("town",)
    with pytest.raises(MissingColumn):
        TABLE["sex"]


def test_rows_by_mask_and_by_index():
    for chosen in (np.array([True, False, True]), np.array([0, 2])):
        rows = TABLE.rows(chosen)
        assert rows.records == 2
        np.testing.assert_array_equal(rows["age"].values, [20, 40])
        np.testing.assert_array_equal(rows["town"].codes, [1, 1])
        assert rows["town"].categories == ("north", "south")


@pytest.mark.parametrize(
    "make",
    [
        lambda: NumericColumn("a", np.zeros((2, 2))),
        lambda: NumericColumn("a", [1, np.nan]),
        lambda: NumericColumn("a", [1, 1e101]),
        lambda: CategoricalColumn("a", np.zeros((2, 2)), ("u",)),
        lambda: CategoricalColumn("a", [0, 1], ("u",)),
        lambda: CategoricalColumn("a", [0, -1], ("u",)),
        lambda: CategoricalColumn("a", [0, 1], ("u", "u")),
    ],
)
def test_columns_that_cannot_be(make):
    with pytest.raises(TableError) as caught:
        make()
    assert caught.value.where == "a"


def test_a_column_is_nobody_elses():
    values, codes = np.array([1.0, 2.0]), np.array([0, 1], dtype=np.intp)
    number, category = NumericColumn("a", values), CategoricalColumn("b", codes, ("u", "v"))
    values[0], codes[0] = 7, 1
    assert number.values[0] == 1
    assert category.codes[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        number.values[0] = 7


def test_without_variation_means_up_to_rounding():
    assert without_variation(np.array([0.3, 0.1 + 0.2]))
    assert without_variation(np.array([]))
    assert without_variation(np.zeros(3))
    assert not without_variation(np.array([1.0, 1.0 + 1e-12]))
    assert not without_variation(np.array([0.0, 1e-200]))
    assert CategoricalColumn("a", [1, 1], ("u", "v")).is_constant
    assert not TOWN.is_constant


def test_frames_are_read_by_the_types_of_their_columns():
    frame = pd.DataFrame(
        {
            "age": [20, 30, 40],
            "town": ["south", "north", "south"],
            "owner": [True, False, True],
            "level": pd.Categorical(["low", "high", "low"], categories=["low", "mid", "high"]),
        }
    )
    table = read_mixed(frame)
    assert table.numeric == ("age",)
    assert table["town"].categories == ("north", "south")
    assert table["owner"].categories == ("False", "True")
    assert table["level"].categories == ("low", "mid", "high")
    np.testing.assert_array_equal(table["level"].codes, [0, 2, 0])
    assert read_mixed(table) is table


def test_arrays_and_series_are_named_by_what_they_are():
    assert read_mixed(np.zeros((2, 3)), "S").names == ("S1", "S2", "S3")
    assert read_mixed([1.0, 2.0], "X").names == ("X1",)
    assert read_mixed(pd.Series([1.0, 2.0])).names == ("S",)
    assert read_mixed(pd.Series([1.0, 2.0], name="age")).names == ("age",)
    with pytest.raises(EmptyTable):
        read_mixed(np.zeros((0, 2)), "X")
    with pytest.raises(EmptyTable):
        read_mixed(pd.DataFrame({"a": []}), "X")


@pytest.mark.parametrize(
    "data",
    [
        {"a": [1.0]},
        np.array([["1"]]),
        np.array(["2020-01-01"], dtype="M8[D]"),
        np.array([1j]),
        [["x"]],
        object(),
    ],
)
def test_what_is_no_table_is_refused(data):
    with pytest.raises(TableError, match="S must be a data frame or an array of numbers, not"):
        read_mixed(data)
