"""What holds of every masking method: its promises, what it takes, what it refuses."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana_core.errors import EmptyTable, MaskingError, OptionError, TableError
from pramana_core.mask import METHODS, mask
from pramana_core.mixed import basis_of, residual, with_constant
from tests.lengths import repetitions
from tests.shared.mask.examples import linear, mixed
from tests.shared.mask.moments import correlation, covariance_difference, mean_difference

pytestmark = pytest.mark.usefixtures("three_bandwidths")

TOLD, X = linear(150)
FEW, FEW_X = linear(60)
ADDITIVE = ("sadp", "cadp")
QUICK = tuple(name for name in METHODS if not name.startswith("nmegadp"))

every_method = pytest.mark.parametrize("name", METHODS)


def generator(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def masked(told, x, name="egadp", **options):
    return mask(name, told, x, generator(3), **options).matrix


@every_method
@pytest.mark.slow
def test_what_a_method_promises_is_so(name: str):
    method = METHODS[name]
    found = mask(name, TOLD, X, generator())
    assert found.method == method.name == name
    same = np.array_equal(np.sort(found.matrix, axis=0), np.sort(X, axis=0))
    assert same == method.released_values
    apart = covariance_difference(TOLD, X, found.matrix) + mean_difference(X, found.matrix)
    assert (apart < 1e-9) == method.exact_moments
    assert method.independent == (name not in ADDITIVE) == (found.influence is not None)
    # Given S, the correlation of Y with X is that of chance: 0 with deviation 1 / sqrt(n).
    basis = basis_of(with_constant(TOLD))
    rest, other = residual(X, basis), residual(found.matrix, basis)
    cosine = np.sum(rest * other, axis=0) / np.linalg.norm(rest, axis=0)
    chance = np.abs(cosine / np.linalg.norm(other, axis=0)).max() < 4.9 / np.sqrt(len(X) - 4)
    assert chance == method.independent


@every_method
@pytest.mark.slow
def test_options_and_seeds_decide_and_nothing_that_was_given_changes(name: str):
    method = METHODS[name]
    told, x = mixed()
    before = told.copy(), x.copy()
    first, again, other = (
        method(told, x, generator(seed), **options).matrix
        for seed, options in ((1, {}), (1, method.options), (2, {}))
    )
    np.testing.assert_array_equal(first, again)
    assert np.any(first != other)
    pd.testing.assert_frame_equal(before[0], told)
    pd.testing.assert_frame_equal(before[1], x)
    vector = method(FEW[:, 0], FEW_X[:, 0], generator()).matrix
    np.testing.assert_array_equal(vector, method(FEW[:, :1], FEW_X[:, :1], generator()).matrix)
    assert vector.shape == (60, 1)


def with_value(values, value):
    found = values.copy()
    found[3, 1] = value
    return found


WRONG = {
    "a missing value in X": ((FEW, with_value(FEW_X, np.nan)), TableError, "X2"),
    "an infinity in X": ((FEW, with_value(FEW_X, -np.inf)), TableError, "X2"),
    "a missing value in S": ((with_value(FEW, np.nan), FEW_X), TableError, "S2"),
    "a missing category in S": (
        (pd.DataFrame({"a": ["u", None] + ["v"] * 58}), FEW_X),
        TableError,
        "a",
    ),
    "text in X": ((FEW, pd.DataFrame({"a": ["1.5"] * 60})), TableError, "a"),
    "truth values in X": ((FEW, pd.DataFrame({"a": FEW_X[:, 0] > 0})), TableError, "a"),
    "objects": ((FEW, [["a", 1.0]] * 60), TableError, "X"),
    "times": ((pd.DataFrame({"a": pd.date_range("2020", periods=60)}), FEW_X), TableError, "a"),
    "three dimensions": ((FEW, FEW_X[:, :, None]), TableError, "X"),
    "no X": ((FEW, None), TableError, "X"),
    "no columns in X": ((FEW, FEW_X[:, :0]), TableError, "X"),
    "no records": ((FEW[:0], FEW_X[:0]), EmptyTable, "X"),
    "other records": ((FEW[:50], FEW_X), TableError, "S"),
    "a column twice": ((FEW, pd.DataFrame(FEW_X, columns=["a", "a"])), TableError, "a"),
    "a constant in X": ((FEW, np.column_stack([FEW_X, np.full(60, 0.1)])), MaskingError, "X3"),
    "one record": ((FEW[:1], FEW_X[:1]), MaskingError, "X"),
}


def lone_category():
    told, x = mixed()
    town = told["town"].to_numpy(copy=True)
    town[7] = "nowhere"
    return told.assign(town=town), x


NOT_PREDICTED = {
    "S tells X": (FEW, np.column_stack([FEW_X[:, 0], 3 * FEW[:, 1] + 7]), "X2"),
    "a category of one record": (*lone_category(), "S"),
    "as many categories as records": (
        pd.DataFrame({"a": [str(i) for i in range(60)]}),
        FEW_X,
        "X",
    ),
    "fewer records than columns": (FEW[:4], FEW_X[:4], "X"),
}


def assert_refused(name, told, x, error, where) -> None:
    rng = generator()
    before = rng.bit_generator.state
    with pytest.raises(error) as raised:
        mask(name, told, x, rng)
    assert raised.value.where == where
    assert rng.bit_generator.state == before, "randomness was spent"


@every_method
def test_tables_that_cannot_be_masked_are_refused(name: str):
    for (told, x), error, where in WRONG.values():
        assert_refused(name, told, x, error, where)
    if name not in ADDITIVE:
        for told, x, where in NOT_PREDICTED.values():
            assert_refused(name, told, x, MaskingError, where)


@every_method
def test_options_that_are_none_are_refused_by_name(name: str):
    wrong = {"noise": (0, -0.1, float("nan")), "max_leverage": (0, -1, 1.5, float("nan"))}
    wrong["max_told"] = (0.0, 1, "a", True, float("nan"))
    for option, values in wrong.items():
        for value in values if option in METHODS[name].options else values[:1]:
            with pytest.raises(OptionError) as raised:
                mask(name, FEW, FEW_X, generator(), **{option: value})
            assert raised.value.where == option
    for rng in (None, 1, "seed"):
        with pytest.raises(OptionError) as raised:
            mask(name, FEW, FEW_X, rng)
        assert raised.value.where == "rng"


def test_unknown_methods_are_refused_and_the_list_cannot_be_written_to():
    with pytest.raises(OptionError) as raised:
        mask("nosie", TOLD, X, generator())
    assert raised.value.where == "method"
    with pytest.raises(TypeError):
        METHODS["egadp"] = METHODS["gadp"]  # type: ignore[index]
    with pytest.raises(TypeError):
        METHODS["egadp"].options["max_leverage"] = 1  # type: ignore[index]


@st.composite
def tables(draw):
    """S and X: of p and q columns on scales of their own, each normal, skewed, whole or two-valued.

    All are less than 1e6 deviations from 0: beyond, moments are kept to the rounding of what is
    released."""
    n, p, q = draw(st.integers(2, 80)), draw(st.integers(0, 5)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    columns = rng.normal(size=(n, p + q)) @ rng.normal(size=(p + q, p + q))
    for place in range(p + q):
        shape = draw(st.sampled_from(["normal", "skewed", "whole", "two-valued"]))
        change = {"skewed": np.exp, "whole": np.round, "two-valued": np.sign}
        columns[:, place] = change.get(shape, lambda v: v)(columns[:, place])
        exponent = draw(st.integers(-12, 12))
        offset = draw(st.sampled_from([0, 1, 100]))
        columns[:, place] = (columns[:, place] + offset) * 10.0**exponent
    return columns[:, :p], columns[:, p:]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in QUICK if name not in ADDITIVE])
def test_promises_hold_of_tables_of_any_shape_and_scale_or_the_table_is_refused(name: str):
    method, seen = METHODS[name], []

    @settings(max_examples=repetitions(30, 100), deadline=None, derandomize=True, database=None)
    @given(tables=tables(), seed=st.integers(0, 1000))
    def hold(tables, seed):
        told, x = tables
        try:
            found = method(told, x, generator(seed))
        except MaskingError:
            seen.append(False)
            return
        seen.append(True)
        assert np.all(np.isfinite(found.matrix))
        if method.exact_moments:
            assert covariance_difference(told, x, found.matrix) < 1e-9
            assert mean_difference(x, found.matrix) < 1e-9
            assert not method.orthogonal or correlation(found.noise, x) < 1e-9
        if method.released_values:
            np.testing.assert_array_equal(np.sort(found.matrix, axis=0), np.sort(x, axis=0))
        if name == "cgadp":
            assert np.all(found.matrix >= x.min(axis=0))
            assert np.all(found.matrix <= x.max(axis=0))

    hold()
    # These are not properties of nothing.
    assert np.mean(seen) > 0.3


def test_categories_are_indicators_and_what_says_nothing_is_left_out():
    sign = FEW[:, 0] > 0
    expected = masked(sign.astype(float), FEW_X)
    unused = pd.Categorical(np.where(sign, "a", "b"), categories=["z", "a", "b", "c"])
    told = [pd.DataFrame({"sign": sign}).astype(k) for k in ("bool", "object", "category")]
    told += [pd.DataFrame({"sign": unused}), pd.get_dummies(sign, dtype=float)]
    told += [pd.DataFrame({"sign": sign, "year": 2006, "country": "x"})]
    for frame in told:
        np.testing.assert_allclose(masked(frame, FEW_X), expected, rtol=1e-9)
    (caution,) = mask("egadp", told[-1], FEW_X, generator()).warnings
    assert "['year', 'country']" in caution


def test_records_are_told_apart_by_place_and_not_by_index():
    told, x = mixed()
    twice = np.repeat(np.arange(150), 2)
    values = masked(told.set_axis(twice), x.set_axis(twice[::-1]))
    np.testing.assert_array_equal(values, masked(told, x))


def test_ranks_know_of_no_outlier_in_s():
    outlying = FEW.copy()
    outlying[[5, 9], [0, 1]] = 1e12
    with pytest.raises(MaskingError):
        mask("nmegadp", outlying, FEW_X, generator())
    ranked = np.argsort(np.argsort(outlying, axis=0), axis=0).astype(float)
    np.testing.assert_array_equal(
        masked(outlying[:, :1], FEW_X, "shuffle"), masked(ranked[:, :1], FEW_X, "shuffle")
    )
