"""Reiter's rules, by hand and against each other; their coverage is in `test_coverage.py`."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pramana_core.errors import OptionError
from pramana_core.mask.copies.combining import ONE_COPY, combine_copies


def test_four_numbers_by_hand():
    found = combine_copies([1.0, 2.0, 3.0, 6.0], [4.0, 5.0, 6.0, 5.0])
    assert found.estimate == pytest.approx([3.0])
    assert found.within == pytest.approx([5.0])
    assert found.between == pytest.approx([14 / 3])
    assert found.variance == pytest.approx([5 + 14 / 12])
    assert found.freedom == pytest.approx([3 * (1 + 4 * 5 / (14 / 3)) ** 2])
    assert found.added == pytest.approx([(14 / 12) / (5 + 14 / 12)])
    low, high = found.interval(0.9)
    half = stats.t.ppf(0.95, found.freedom) * np.sqrt(found.variance)
    assert np.concatenate([low, high]) == pytest.approx(np.concatenate([3 - half, 3 + half]))
    assert found.p_value == pytest.approx(
        2 * stats.t.cdf(-3 / np.sqrt(found.variance), found.freedom)
    )


def test_a_vector_is_its_numbers_one_by_one():
    rng = np.random.default_rng(1)
    estimates, variances = rng.normal(size=(5, 3)), rng.random((5, 3))
    together = combine_copies(estimates, variances, 200, parameters=4)
    for place in range(3):
        alone = combine_copies(estimates[:, place], variances[:, place], 200, parameters=4)
        for part in ("estimate", "variance", "freedom", "between", "t"):
            assert getattr(together, part)[place] == getattr(alone, part)[0]
    assert together.covariance is None


def test_covariances_are_combined_as_matrices():
    rng = np.random.default_rng(2)
    estimates = rng.normal(size=(6, 2))
    roots = rng.normal(size=(6, 2, 2))
    covariances = roots @ roots.transpose(0, 2, 1)
    found = combine_copies(estimates, covariances)
    centred = estimates - estimates.mean(axis=0)
    assert found.covariance == pytest.approx(
        covariances.sum(axis=0) / 6 + centred.T @ centred / 5 / 6
    )
    assert np.diag(found.covariance) == pytest.approx(found.variance)


def test_copies_that_agree_leave_the_variance_of_the_analysis():
    found = combine_copies([[7.0, 1e6], [7.0, 1e6 + 1e-9]], [[2.0, 3.0], [2.0, 3.0]], 50)
    assert found.variance.tolist() == [2.0, 3.0]
    assert found.between.tolist() == [0.0, 0.0]
    assert found.freedom == pytest.approx([48.0, 48.0])
    assert not found.added.any()
    assert np.isinf(combine_copies([7.0, 7.0], [2.0, 2.0]).freedom).all()
    exact = combine_copies([0.0, 0.0], [0.0, 0.0], 10)
    assert exact.variance == 0
    assert exact.interval()[0] == 0


def test_the_freedom_lies_between_what_either_part_has():
    many = combine_copies([1.0, 2.0, 3.0], [0.1, 0.1, 0.1])
    few = combine_copies([1.0, 2.0, 3.0], [0.1, 0.1, 0.1], 12)
    assert few.freedom < many.freedom
    only_noise = combine_copies([1.0, 2.0, 3.0], [0.0, 0.0, 0.0], 12)
    assert only_noise.freedom == pytest.approx([2.0])


def test_one_copy_says_what_it_leaves_out():
    found = combine_copies([[1.0, 2.0]], [[0.5, 0.25]], 100)
    assert found.variance.tolist() == [0.5, 0.25]
    assert found.freedom == pytest.approx([98.0, 98.0])
    assert found.warnings == (ONE_COPY,)
    assert not combine_copies([1.0, 2.0], [1.0, 1.0]).warnings


@pytest.mark.parametrize(
    ("estimates", "variances", "records", "words"),
    [
        ([[1.0, 2.0]], [[1.0]], None, "do not belong together"),
        ([], [], None, "do not belong together"),
        ([1.0, np.nan], [1.0, 1.0], None, "must be finite"),
        ([1.0, 2.0], [1.0, -1.0], None, "not negative"),
        ([[1.0, 2.0]], [[1.0, 1.0]], 2, "too few"),
    ],
)
def test_wrong_calls_are_told_in_a_sentence(estimates, variances, records, words):
    with pytest.raises(OptionError, match=words):
        combine_copies(estimates, variances, records)


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
def test_a_level_is_a_share(level):
    with pytest.raises(OptionError, match="level"):
        combine_copies([1.0, 2.0], [1.0, 1.0]).interval(level)
