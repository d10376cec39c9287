"""What S and X may be: arrays, series and frames of any numeric type; the answer has X's form."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pramana_core.mask import METHODS, egadp, mask, shuffle
from pramana_core.mixed import MixedTable, read_mixed
from tests.shared.mask.examples import linear, mixed

pytestmark = pytest.mark.usefixtures("three_bandwidths")

TOLD, X = linear(60)


def masked(told, x, name="egadp"):
    return mask(name, told, x, np.random.default_rng(3)).values


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_vectors_stay_vectors(name: str):
    values = masked(TOLD[:, 0], X[:, 0], name)
    assert values.shape == (60,)
    np.testing.assert_array_equal(values, masked(TOLD[:, :1], X[:, :1], name)[:, 0])


def test_series_keep_name_index_and_type():
    told, x = mixed()
    values = shuffle(told, x["children"], np.random.default_rng(3)).values
    assert isinstance(values, pd.Series)
    assert values.name == "children"
    assert values.dtype == x["children"].dtype
    assert masked(told["age"], x["income"]).index.equals(x.index)


def test_a_table_is_answered_by_a_table():
    values = masked(TOLD, read_mixed(X))
    assert isinstance(values, MixedTable)
    np.testing.assert_array_equal(values.matrix(), masked(TOLD, X))


def test_records_are_told_apart_by_place_and_not_by_index():
    """A frame that was put together from others has an index that occurs twice."""
    told, x = mixed()
    twice = np.repeat(np.arange(150), 2)
    values = masked(told.set_axis(twice), x.set_axis(twice))
    np.testing.assert_array_equal(values.to_numpy(), masked(told, x).to_numpy())
    assert list(values.index) == list(twice)
    # Rows are taken as they come: an index in another order is not looked at.
    shifted = masked(told.set_axis(np.arange(300)[::-1]), x.set_axis(np.arange(300)))
    np.testing.assert_array_equal(shifted.to_numpy(), values.to_numpy())


WHOLE = np.round(X * 10)

SAME = {
    "32 bits": WHOLE.astype(np.float32),
    "whole numbers": WHOLE.astype(np.int16),
    "Fortran's order": np.asfortranarray(WHOLE),
    "every second row": np.repeat(WHOLE, 2, axis=0)[::2],
    "backwards": WHOLE[::-1][::-1],
    "lists": WHOLE.tolist(),
    "objects": WHOLE.astype(object),
    "a masked array with nothing masked": np.ma.array(WHOLE, mask=False),
    "a frame": pd.DataFrame(WHOLE),
    "nullable": pd.DataFrame(WHOLE).astype("Int64"),
    "nullable floats": pd.DataFrame(WHOLE).astype("Float64"),
    "arrow": pd.DataFrame(WHOLE).astype("float64[pyarrow]"),
    "sparse": pd.DataFrame(WHOLE).astype(pd.SparseDtype(float)),
    "read only": np.broadcast_to(WHOLE, WHOLE.shape),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["egadp", "shuffle"])
@pytest.mark.parametrize("case", SAME)
def test_every_type_of_numbers_is_masked_alike(case: str, name: str):
    found = masked(TOLD, SAME[case], name)
    np.testing.assert_array_equal(np.asarray(found, dtype=float), masked(TOLD, WHOLE, name))


def test_truth_values_in_s_are_indicators():
    sign = TOLD[:, 0] > 0
    expected = masked(sign.astype(float), X)
    np.testing.assert_allclose(masked(sign, X), expected, rtol=1e-9)
    for kind in ("bool", "boolean", "object", "string", "category", "bool[pyarrow]"):
        frame = pd.DataFrame({"sign": sign}).astype(kind)
        np.testing.assert_allclose(masked(frame, X), expected, rtol=1e-9, err_msg=kind)


def test_many_categories_are_fine():
    rng = np.random.default_rng(4)
    told = pd.DataFrame({"place": rng.permutation(np.repeat([f"p{i}" for i in range(50)], 20))})
    x = told["place"].str[1:].astype(float).to_numpy() + rng.normal(size=1000)
    values = masked(told, x)
    before, after = (pd.Series(v).groupby(told["place"]).mean() for v in (x, values))
    np.testing.assert_allclose(after, before, rtol=1e-9)


def test_constant_columns_of_s_are_left_out_and_said():
    told = pd.DataFrame({"a": TOLD[:, 0], "year": 2006, "country": "x"})
    found = egadp(told, X, np.random.default_rng(3))
    np.testing.assert_array_equal(found.values, masked(TOLD[:, 0], X))
    (caution,) = found.warnings
    assert caution == (
        "Columns ['year', 'country'] of S have the same value in every record and were left out."
    )


def test_categories_that_no_record_has_are_no_matter():
    town = pd.Categorical(np.where(TOLD[:, 0] > 0, "a", "b"), categories=["z", "a", "b", "c"])
    found = egadp(pd.DataFrame({"town": town}), X, np.random.default_rng(3))
    assert found.warnings == ()
    np.testing.assert_allclose(found.values, masked(TOLD[:, 0] > 0, X), rtol=1e-9)


def test_indicators_that_sum_to_one_are_left_out_where_others_tell_them():
    told, x = mixed()
    dummies = pd.get_dummies(told["town"], dtype=float)
    found = egadp(dummies, x, np.random.default_rng(3))
    assert found.details["left_out"] == ("west",)
    np.testing.assert_allclose(found.values, masked(told[["town"]], x), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_frames_keep_columns_and_index_and_what_was_given_stays_as_it_was(name: str):
    told, x = mixed()
    arrays = TOLD.copy(), X.copy()
    frames = told.copy(), x.copy()
    masked(*arrays, name)
    values = masked(*frames, name)
    assert isinstance(values, pd.DataFrame)
    assert list(values.columns) == list(x.columns)
    pd.testing.assert_index_equal(values.index, x.index)
    np.testing.assert_array_equal(arrays[0], TOLD)
    np.testing.assert_array_equal(arrays[1], X)
    assert arrays[1].flags.writeable
    pd.testing.assert_frame_equal(frames[0], told)
    pd.testing.assert_frame_equal(frames[1], x)


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_equal_seeds_mask_alike_and_others_do_not(name: str):
    first, second, other = (
        mask(name, TOLD, X, np.random.default_rng(seed)).matrix for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, second)
    assert np.any(first != other)


def test_one_value_that_dominates_a_column_is_said():
    outlying = X.copy()
    outlying[5, 0] = 1e12
    found = egadp(TOLD, outlying, np.random.default_rng(3))
    # Its own noise is orthogonal to the value itself, so that it has none.
    own, caution = found.warnings
    assert own.startswith("1 record has little noise")
    assert caution == (
        "One value holds more than 90% of the variation of column 'X1': the noise of all records is"
        " of its size, and whose it is may be seen. Cut it off, take logarithms or leave its record"
        " out before masking."
    )
    reordered = shuffle(TOLD, outlying, np.random.default_rng(3))
    assert "may be recognized in what is released" in reordered.warnings[0]
    assert 1e12 in reordered.values


def test_what_s_nearly_tells_is_said():
    found = egadp(TOLD, TOLD[:, 0] + 0.1 * X[:, 0], np.random.default_rng(3))
    (caution,) = found.warnings
    assert caution == (
        "S tells more than 95% of the variation of column 'X1': masked values lie close to the true"
        " ones, as everybody's prediction from S does."
    )


def test_few_records_are_said():
    found = egadp(TOLD[:12, :1], X[:12], np.random.default_rng(3), max_leverage=0.9)
    (caution,) = found.warnings
    assert caution == (
        "There are only 8 more records than columns of S and X together: what is exact in the"
        " masked values narrows down the true ones. Mask more records or fewer columns."
    )
