"""What holds of tables of any shape and scale."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana_core.errors import MaskingError
from pramana_core.mask import cgadp, egadp, ipso, shuffle
from tests.lengths import repetitions
from tests.shared.mask.moments import correlation, covariance_difference, mean_difference


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
@settings(max_examples=repetitions(40, 150), deadline=None, derandomize=True)
@given(tables=tables(), seed=st.integers(0, 1000))
@pytest.mark.parametrize("method", [egadp, ipso])
def test_moments_are_exact_or_the_table_is_refused(method, tables, seed: int):
    told, x = tables
    copies = told.copy(), x.copy()
    try:
        masked = method(told, x, np.random.default_rng(seed))
    except MaskingError:
        return
    np.testing.assert_array_equal(told, copies[0])
    np.testing.assert_array_equal(x, copies[1])
    assert masked.values.shape == x.shape
    assert covariance_difference(told, x, masked.values) < 1e-9
    assert mean_difference(x, masked.values) < 1e-9
    if method is egadp:
        assert correlation(masked.noise, x) < 1e-9
    again = method(told, x, np.random.default_rng(seed))
    np.testing.assert_array_equal(again.values, masked.values)


@pytest.mark.slow
@settings(max_examples=repetitions(20, 100), deadline=None, derandomize=True)
@given(tables=tables(), seed=st.integers(0, 1000))
@pytest.mark.parametrize("marginals", ["rank", "parametric"])
def test_marginals_are_exact_or_the_table_is_refused(marginals, tables, seed: int):
    told, x = tables
    try:
        masked = shuffle(told, x, np.random.default_rng(seed), marginals=marginals)
    except MaskingError:
        return
    np.testing.assert_array_equal(np.sort(masked.values, axis=0), np.sort(x, axis=0))
    again = shuffle(told, x, np.random.default_rng(seed), marginals=marginals)
    np.testing.assert_array_equal(again.values, masked.values)


@pytest.mark.slow
@settings(max_examples=repetitions(20, 100), deadline=None, derandomize=True)
@given(tables=tables(), seed=st.integers(0, 1000))
def test_copulas_stay_in_range_or_the_table_is_refused(tables, seed: int):
    told, x = tables
    try:
        masked = cgadp(told, x, np.random.default_rng(seed))
    except MaskingError:
        return
    assert np.all(np.isfinite(masked.values))
    assert np.all(masked.values >= x.min(axis=0))
    assert np.all(masked.values <= x.max(axis=0))


@pytest.mark.slow
def test_most_of_the_tables_are_masked():
    """The properties above are not properties of nothing."""
    seen = []

    @settings(max_examples=40, deadline=None, derandomize=True, database=None)
    @given(tables=tables())
    def count(tables):
        try:
            egadp(*tables, np.random.default_rng(1))
        except MaskingError:
            seen.append(False)
        else:
            seen.append(True)

    count()
    assert np.mean(seen) > 0.3
