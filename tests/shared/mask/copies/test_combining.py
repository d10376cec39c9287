"""Reiter's rules, by hand and against each other; their coverage is in `test_coverage.py`."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pramana_core.errors import MaskingError, OptionError
from pramana_core.mask import METHODS
from pramana_core.mask.copies import ONE_COPY, combine_copies, require_few_copies

egadp = METHODS["egadp"]


def test_four_numbers_by_hand():
    found = combine_copies([1.0, 2.0, 3.0, 6.0], [4.0, 5.0, 6.0, 5.0])
    assert found.estimate == pytest.approx([3.0])
    assert found.within == pytest.approx([5.0])
    assert found.between == pytest.approx([14 / 3])
    assert found.variance == pytest.approx([5 + 14 / 12])
    assert found.freedom == pytest.approx([3 * (1 + 4 * 5 / (14 / 3)) ** 2])
    low, high = found.interval(0.9)
    half = stats.t.ppf(0.95, found.freedom) * np.sqrt(found.variance)
    assert np.concatenate([low, high]) == pytest.approx(np.concatenate([3 - half, 3 + half]))
    assert found.p_value == pytest.approx(
        2 * stats.t.cdf(-3 / np.sqrt(found.variance), found.freedom)
    )


def test_copies_that_agree_leave_the_variance_of_the_analysis():
    found = combine_copies([[7.0, 1e6], [7.0, 1e6 + 1e-9]], [[2.0, 3.0], [2.0, 3.0]], 50)
    assert found.variance.tolist() == [2.0, 3.0]
    assert found.between.tolist() == [0.0, 0.0]
    assert found.freedom == pytest.approx([48.0, 48.0])
    assert np.isinf(combine_copies([7.0, 7.0], [2.0, 2.0]).freedom).all()
    exact = combine_copies([0.0, 0.0], [0.0, 0.0], 10)
    assert exact.variance == 0
    assert exact.interval()[0] == 0


def test_one_copy_says_what_it_leaves_out():
    found = combine_copies([[1.0, 2.0]], [[0.5, 0.25]], 100)
    assert found.variance.tolist() == [0.5, 0.25]
    assert found.freedom == pytest.approx([98.0, 98.0])
    assert found.warnings == (ONE_COPY,)
    assert not combine_copies([1.0, 2.0], [1.0, 1.0]).warnings


@pytest.mark.parametrize(
    ("estimates", "variances", "records"),
    [
        ([[1.0, 2.0]], [[1.0]], None),
        ([], [], None),
        ([1.0, np.nan], [1.0, 1.0], None),
        ([1.0, 2.0], [1.0, -1.0], None),
        ([[1.0, 2.0]], [[1.0, 1.0]], 2),
    ],
)
def test_wrong_calls_are_refused(estimates, variances, records):
    with pytest.raises(OptionError):
        combine_copies(estimates, variances, records)


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
def test_a_level_is_a_share(level):
    with pytest.raises(OptionError):
        combine_copies([1.0, 2.0], [1.0, 1.0]).interval(level)


# Exact noise is an equation on the true values: what many of them, or few records, give away.


def residual(values, told):
    return values - told @ np.linalg.lstsq(told, values, rcond=None)[0]


def solved(n, copies, known):
    """How much of what S does not tell whoever knows some records learns of the others: R^2."""
    rng = np.random.default_rng(3)
    s = rng.normal(size=(n, 2))
    x = s[:, :1] + rng.normal(size=(n, 1))
    told = np.column_stack([np.ones(n), s])
    noise = [residual(egadp(s, x, rng).matrix, told) for _ in range(copies)]
    taken = np.linalg.svd(np.column_stack([told, *noise]), full_matrices=True)[0]
    free = taken[:, 3 + copies :]
    truth = residual(x, told)[:, 0]
    guess = free @ np.linalg.lstsq(free[:known], truth[:known], rcond=1e-10)[0]
    return 1 - np.sum((truth - guess)[known:] ** 2) / np.sum(truth[known:] ** 2)


def test_many_copies_solve_for_the_true_values_and_few_do_not():
    assert solved(50, 45, 5) > 0.999
    assert solved(50, 5, 5) < 0.2


def test_values_that_are_yes_or_no_are_found_by_trying():
    rng = np.random.default_rng(4)
    n = 18
    s, x = rng.normal(size=(n, 1)), rng.integers(0, 2, (n, 1)).astype(float)
    released = egadp(s, x, rng)
    told = np.column_stack([np.ones(n), s])
    noise = residual(released.matrix, told)[:, 0]
    every = (np.arange(1 << n)[:, None] >> np.arange(n)) & 1
    fits = (np.abs(every @ noise) < 1e-9) & (every.sum(axis=1) == round(released.matrix.sum()))
    (found,) = np.flatnonzero(fits)
    np.testing.assert_array_equal(every[found], x[:, 0])
    assert any("by trying" in warning for warning in released.warnings)


@pytest.mark.parametrize("name", sorted(METHODS))
def test_too_many_copies_are_refused_where_noise_is_orthogonal(name):
    method = METHODS[name]
    require_few_copies(method, 5, 100, 2)
    require_few_copies(method, 1, 10, 5)
    if not method.orthogonal:
        require_few_copies(method, 100, 10, 5)
        return
    with pytest.raises(MaskingError) as refused:
        require_few_copies(method, 6, 100, 2)
    assert "at most 5" in str(refused.value.remedy)
