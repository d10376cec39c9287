"""What masked records tell of one person: the figures of the threat model's page on them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pramana_core.errors import MaskingError
from pramana_core.mask import METHODS

egadp, sadp, shuffle = (METHODS[name] for name in ("egadp", "sadp", "shuffle"))


def people(records: int = 300) -> tuple[pd.DataFrame, np.ndarray]:
    """Told columns, and an income that goes with them."""
    rng = np.random.default_rng(11)
    told = pd.DataFrame(
        {"age": rng.uniform(20, 60, records), "sex": rng.choice(["f", "m"], records)}
    )
    income = 300 + 5 * told["age"] + 40 * (told["sex"] == "m") + rng.normal(0, 50, records)
    return told, income.to_numpy()


def residuals(values: np.ndarray, told: pd.DataFrame) -> np.ndarray:
    x = np.column_stack([np.ones(len(told)), told["age"], told["sex"] == "m"])
    rest: np.ndarray = values - x @ np.linalg.lstsq(x, values, rcond=None)[0]
    return rest


def masked(told: pd.DataFrame, income: np.ndarray, seed: int, **options: float) -> np.ndarray:
    return np.ravel(egadp(told, income, np.random.default_rng(seed), **options).matrix)


def test_exact_moments_tell_nothing_of_a_record_beyond_its_told_columns():
    told, income = people()
    y = masked(told, income, 1)
    assert abs(np.corrcoef(residuals(y, told), residuals(income, told))[0, 1]) < 1e-9
    # A release without masking is found out by the same figure.
    assert np.corrcoef(residuals(income, told), residuals(income, told))[0, 1] > 0.99


def test_two_releases_that_differ_by_one_record_give_its_value_away():
    """The means of both are exact, so their difference times the records is the one value."""
    told, income = people()
    with_her = masked(told, income, 1).sum()
    without = masked(told[1:], income[1:], 2).sum()
    assert with_her - without == pytest.approx(income[0], rel=1e-9)


def test_two_shuffled_releases_that_differ_by_one_record_give_its_value_away():
    told, income = people()
    rng = np.random.default_rng(3)
    first = np.sort(np.ravel(shuffle(told, income, rng).matrix))
    second = np.sort(np.ravel(shuffle(told[1:], income[1:], rng).matrix))
    (her,) = np.setdiff1d(first, second)
    assert her == income[0]


def test_shuffled_values_are_the_true_ones_and_the_largest_is_among_them():
    told, income = people()
    y = np.ravel(shuffle(told, income, np.random.default_rng(4)).matrix)
    assert np.array_equal(np.sort(y), np.sort(income))


def test_a_record_alone_in_a_category_would_be_released_as_it_is_and_is_refused():
    told, income = people()
    told.loc[0, "sex"] = "x"
    with pytest.raises(MaskingError):
        masked(told, income, 1)
    y = masked(told, income, 1, max_leverage=1.0)
    assert y[0] == pytest.approx(income[0], rel=1e-9)
    assert not np.isclose(y[1:], income[1:], rtol=1e-6).any()


def test_an_outlier_of_a_told_column_would_be_released_as_it_is_and_is_refused():
    told, income = people()
    told.loc[0, "age"] = 1e12
    with pytest.raises(MaskingError):
        masked(told, income, 1)
    assert masked(told, income, 1, max_leverage=1.0)[0] == pytest.approx(income[0], rel=1e-6)


@pytest.mark.slow
def test_copies_of_additive_noise_average_out():
    """Of 1 copy the noise has a tenth of the variance, of the mean of 100 a thousandth."""
    told, income = people(20_000)
    rng = np.random.default_rng(5)
    copies = [np.ravel(sadp(told, income, rng).matrix) for _ in range(100)]
    shares = [np.var(np.mean(copies[:m], axis=0) - income) / np.var(income) for m in (1, 100)]
    # The error of such a share is 1 % of it: the tolerance is ten errors.
    assert shares == pytest.approx([0.1, 0.001], rel=0.1)


# Exact noise is an equation on the true values: what many of them, or few records, give away.


def residual(values, told):
    return values - told @ np.linalg.lstsq(told, values, rcond=None)[0]


def solved(n, times, known):
    """How much of what S does not tell whoever knows some records learns of the others: R^2."""
    rng = np.random.default_rng(3)
    s = rng.normal(size=(n, 2))
    x = s[:, :1] + rng.normal(size=(n, 1))
    told = np.column_stack([np.ones(n), s])
    noise = [residual(egadp(s, x, rng).matrix, told) for _ in range(times)]
    taken = np.linalg.svd(np.column_stack([told, *noise]), full_matrices=True)[0]
    free = taken[:, 3 + times :]
    truth = residual(x, told)[:, 0]
    guess = free @ np.linalg.lstsq(free[:known], truth[:known], rcond=1e-10)[0]
    return 1 - np.sum((truth - guess)[known:] ** 2) / np.sum(truth[known:] ** 2)


def test_many_maskings_solve_for_the_true_values_and_few_do_not():
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
    assert any("a search can find" in warning for warning in released.warnings)
