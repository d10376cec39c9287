"""Input that cannot be masked: a sentence on what is wrong, and nothing is half done."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pramana_core.errors import EmptyTable, MaskingError, OptionError, TableError
from pramana_core.mask import METHODS, cadp, cgadp, egadp, gadp, ipso, mask, nmegadp, sadp, shuffle
from tests.shared.mask.examples import linear, mixed

PREDICTING = [name for name in METHODS if name not in ("sadp", "cadp")]


def frame(**columns):
    return pd.DataFrame(columns)


def with_value(values, value):
    found = values.copy()
    found[3, 1] = value
    return found


TOLD, X = linear(60)

WRONG = {
    "a missing value in X": (
        (TOLD, with_value(X, np.nan)),
        TableError,
        "Column 'X2' has 1 values that are missing, infinite or beyond 1e+100.",
    ),
    "an infinity in X": ((TOLD, with_value(X, -np.inf)), TableError, "Column 'X2' has 1 values"),
    "a missing value in S": ((with_value(TOLD, np.nan), X), TableError, "Column 'S2' has 1 values"),
    "a missing category in S": (
        (frame(a=["u", None] + ["v"] * 58), X),
        TableError,
        "Column 'a' has 1 values that are missing or in none of its 2 categories.",
    ),
    "a missing nullable number": (
        (TOLD, pd.DataFrame(X, columns=["a", "b"]).convert_dtypes().mask(lambda f: f > 2)),
        TableError,
        "values that are missing",
    ),
    "a masked array": ((TOLD, np.ma.masked_greater(X, 2)), TableError, "values that are missing"),
    "text in X": (
        (TOLD, frame(a=["1.5"] * 60, b=X[:, 0])),
        TableError,
        "Columns ['a'] of X hold categories, truth values or text; only numbers can be masked.",
    ),
    "truth values in X": ((TOLD, frame(a=X[:, 0] > 0)), TableError, "Columns ['a'] of X hold"),
    "an array of text": (
        (TOLD, X.astype(str)),
        TableError,
        "X must be a data frame or an array of numbers, not ndarray.",
    ),
    "objects": ((TOLD, [["a", 1.0]] * 60), TableError, "X must be a data frame or an array"),
    "complex numbers": ((TOLD, X * 1j), TableError, "X must be a data frame or an array"),
    "times": (
        (frame(a=pd.date_range("2020", periods=60)), X),
        TableError,
        "Column 'a' holds times.",
    ),
    "three dimensions": (
        (TOLD, X[:, :, None]),
        TableError,
        "X must have one or two dimensions, not 3.",
    ),
    "a single number": ((TOLD, 1.0), TableError, "X must have one or two dimensions, not 0."),
    "no X": ((TOLD, None), TableError, "X must have one or two dimensions, not 0."),
    "ragged lists": ((TOLD, [[1.0], [1.0, 2.0]]), TableError, "X must be a data frame or an array"),
    "no columns in X": ((TOLD, X[:, :0]), TableError, "X has no columns."),
    "no records": ((TOLD[:0], X[:0]), EmptyTable, "X has no records."),
    "other records": ((TOLD[:50], X), TableError, "S has 50 records and X has 60."),
    "a column twice": (
        (TOLD, pd.DataFrame(X, columns=["a", "a"])),
        TableError,
        "Columns occur twice: ['a'].",
    ),
    "a constant in X": (
        (TOLD, np.column_stack([X, np.full(60, 0.1)])),
        MaskingError,
        "Column 'X3' of X has the same value in every record; masking cannot hide it.",
    ),
    "one record": ((TOLD[:1], X[:1]), MaskingError, "One record cannot be masked"),
}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("case", WRONG)
def test_every_method_refuses(case: str, name: str):
    (told, x), error, message = WRONG[case]
    rng = np.random.default_rng(1)
    before = rng.bit_generator.state
    with pytest.raises(error) as caught:
        mask(name, told, x, rng)
    assert message in str(caught.value)
    assert rng.bit_generator.state == before, "randomness was spent"


def lone_category():
    told, x = mixed()
    town = told["town"].to_numpy(copy=True)
    town[7] = "nowhere"
    return told.assign(town=town), x


REFUSED = {
    "S tells X": (
        lambda: (TOLD, np.column_stack([X[:, 0], 3 * TOLD[:, 1] + 7])),
        "S tells columns ['X2'] of X exactly; masking cannot hide them beside S.",
    ),
    "a category of one record": (
        lone_category,
        "1 record stands nearly alone in S, most by 'town': in the masked value of such a record",
    ),
    "as many categories as records": (
        lambda: (frame(a=[str(i) for i in range(60)]), X),
        "60 records are too few for these columns; at least 63 are needed.",
    ),
    "fewer records than columns": (
        lambda: (TOLD[:4], X[:4]),
        "4 records are too few for these columns; at least ",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PREDICTING)
@pytest.mark.parametrize("case", REFUSED)
def test_methods_that_predict_refuse(case: str, name: str):
    make, message = REFUSED[case]
    told, x = make()
    rng = np.random.default_rng(1)
    before = rng.bit_generator.state
    with pytest.raises(MaskingError) as caught:
        mask(name, told, x, rng)
    assert message in str(caught.value)
    assert rng.bit_generator.state == before, "randomness was spent"


@pytest.mark.parametrize("name", ["egadp", "cgadp", "shuffle", "shuffle-parametric", "nmegadp"])
def test_noise_that_is_orthogonal_to_x_needs_more_records(name: str):
    """n = p + q + 1 leaves no direction for it."""
    with pytest.raises(MaskingError, match="6 records are too few for these columns; at least 9"):
        mask(name, TOLD[:6], X[:6], np.random.default_rng(1))
    assert len(mask("egadp", TOLD[:9], X[:9], np.random.default_rng(1), max_leverage=1).values)


@pytest.mark.parametrize("method", [gadp, ipso, egadp, nmegadp])
def test_an_outlier_in_s_is_refused_and_counted(method):
    told = TOLD.copy()
    told[[5, 9], [0, 1]] = 1e12
    with pytest.raises(MaskingError, match="2 records stand nearly alone in S, most by 'S1', 'S2'"):
        method(told, X, np.random.default_rng(1))


@pytest.mark.parametrize("name", ["cgadp", "shuffle"])
def test_ranks_know_of_no_outlier_in_s(name: str):
    told = TOLD.copy()
    told[5, 0] = 1e12
    masked = mask(name, told, X, np.random.default_rng(1))
    ranked = np.argsort(np.argsort(told, axis=0), axis=0).astype(float)
    again = mask(name, ranked, X, np.random.default_rng(1))
    np.testing.assert_array_equal(masked.values, again.values)


def test_the_bound_on_leverage_can_be_moved():
    told, x = lone_category()
    masked = egadp(told, x, np.random.default_rng(1), max_leverage=1)
    assert masked.details["largest_leverage"] == pytest.approx(1)
    # What the bound is for: the masked value is the true one.
    np.testing.assert_allclose(masked.matrix[7], x.to_numpy()[7], rtol=1e-9)
    with pytest.raises(MaskingError, match="records stand nearly alone"):
        egadp(*mixed(), np.random.default_rng(1), max_leverage=0.001)


@pytest.mark.parametrize("most", [0, -1, 1.5, float("nan")])
@pytest.mark.parametrize("method", [gadp, ipso, egadp, cgadp, shuffle])
def test_a_leverage_is_a_share(method, most: float):
    with pytest.raises(OptionError, match="max_leverage must be above 0 and at most 1, not"):
        method(TOLD, X, np.random.default_rng(1), max_leverage=most)


@pytest.mark.parametrize("noise", [0, -0.1, float("nan"), float("inf")])
@pytest.mark.parametrize("method", [sadp, cadp])
def test_noise_is_a_positive_share(method, noise: float):
    with pytest.raises(OptionError, match="noise must be .*above 0 and at most 1,000,000, not"):
        method(TOLD, X, np.random.default_rng(1), noise=noise)


def test_marginals_are_of_two_kinds():
    with pytest.raises(OptionError, match="marginals must be one of rank, parametric, not 'x'"):
        shuffle(TOLD, X, np.random.default_rng(1), marginals="x")  # type: ignore[arg-type]


@pytest.mark.parametrize("rng", [None, 1, "seed"])
@pytest.mark.parametrize("name", list(METHODS))
def test_randomness_is_a_generator(name: str, rng: object):
    with pytest.raises(OptionError, match="rng must be a random generator such as numpy's, not"):
        mask(name, TOLD, X, rng)  # type: ignore[arg-type]
