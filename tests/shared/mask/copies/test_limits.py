"""Exact noise is an equation on the true values: what many of them, or few records, give away."""

from __future__ import annotations

import numpy as np
import pytest

from pramana_core.errors import MaskingError
from pramana_core.mask import METHODS, egadp
from pramana_core.mask.copies import require_few_copies


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


def test_ordinary_tables_are_not_warned_of():
    rng = np.random.default_rng(5)
    s = rng.normal(size=(200, 1))
    x = np.round(40 + 10 * rng.normal(size=(200, 2)))
    assert not [w for w in egadp(s, x, rng).warnings if "by trying" in w]


@pytest.mark.parametrize("name", sorted(METHODS))
def test_too_many_copies_are_refused_where_noise_is_orthogonal(name):
    method = METHODS[name]
    require_few_copies(method, 5, 100, 2)
    require_few_copies(method, 1, 10, 5)
    if not method.orthogonal:
        require_few_copies(method, 100, 10, 5)
        return
    with pytest.raises(MaskingError, match="6 copies of 2 columns") as refused:
        require_few_copies(method, 6, 100, 2)
    assert "at most 5" in str(refused.value.remedy)


def test_the_methods_whose_noise_is_orthogonal_say_so():
    said = {name for name, method in METHODS.items() if method.orthogonal}
    assert said == set(METHODS) - {
        "sadp", "cadp", "gadp", "ipso", "synthetic-copula", "synthetic-trees"
    }  # fmt: skip
