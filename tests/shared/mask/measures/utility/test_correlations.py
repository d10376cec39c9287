"""Correlation matrices of the true and the masked table."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pramana_core.mask.measures.core.compared import compared
from pramana_core.mask.measures.utility_rows import correlations

RNG = np.random.default_rng(1)
S, X, Y = RNG.standard_normal((40, 1)), *RNG.standard_normal((2, 40, 2))


def test_matrices_are_those_of_scipy():
    data = compared(S, X, Y)
    expected = np.corrcoef(np.column_stack([S, Y]).T)
    assert correlations(data, "pearson").masked == pytest.approx(expected)
    ranks = stats.spearmanr(np.column_stack([S, X])).statistic
    assert correlations(data, "spearman").original == pytest.approx(ranks)


def test_differences_leave_s_with_itself_out():
    two = np.column_stack([S, RNG.standard_normal(40)])
    found = correlations(compared(two, X, Y), "pearson")
    gap = np.abs(found.masked - found.original)
    pairs = [(0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    assert sorted(np.abs(found.differences)) == pytest.approx(sorted(gap[p] for p in pairs))
    assert found.largest == pytest.approx(max(gap[p] for p in pairs))
    assert found.mean == pytest.approx(np.mean([gap[p] for p in pairs]))


def test_exact_moments_keep_pearson_exactly_and_any_order_keeps_spearman():
    from pramana_core.mask.methods.gadp import egadp

    y = egadp(S, X, np.random.default_rng(2)).matrix
    assert correlations(compared(S, X, y), "pearson").largest < 1e-9
    assert correlations(compared(S, X, np.exp(X)), "spearman").largest < 1e-9
    assert correlations(compared(S, X, np.exp(X)), "pearson").largest > 0.01


def test_a_constant_column_correlates_with_nothing():
    found = correlations(compared(S, X, np.ones_like(X)), "pearson")
    assert found.masked[1:, 0] == pytest.approx([0, 0])


def test_one_column_alone_has_no_pairs():
    found = correlations(compared(None, X[:, 0], Y[:, 0]), "pearson")
    assert (found.largest, found.mean) == (0, 0)
