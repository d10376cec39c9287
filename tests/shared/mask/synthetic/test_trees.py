"""The trees draw true values from leaves large enough, one column after the other."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pramana_core.errors import NotInstalled, OptionError
from pramana_core.mask.synthetic import _drawn, _leaves, synthetic_trees

FALSE_ALARM = 1e-6


@pytest.fixture(scope="module")
def hump():
    rng = np.random.default_rng(21)
    s = rng.uniform(-2, 2, 600)
    x1 = 4 - s**2 + 0.3 * rng.standard_normal(600)
    return pd.DataFrame({"s": s, "g": np.where(s > 0, "up", "down")}), np.column_stack(
        [x1, np.cos(x1) + 0.1 * rng.standard_normal(600)]
    )


class Three:
    """Randomness with nothing but what the protocol names."""

    def __init__(self, seed):
        inner = np.random.default_rng(seed)
        self.standard_normal = inner.standard_normal
        self.random = inner.random
        self.permutation = inner.permutation


@pytest.mark.parametrize("draw", ["plain", "bayesian-bootstrap"])
def test_values_are_true_ones_unless_smoothed(hump, draw):
    told, x = hump
    masked = synthetic_trees(told, x, Three(1), draw=draw)
    for place in range(2):
        assert np.isin(masked.matrix[:, place], x[:, place]).all()
    assert "true values" in masked.warnings[0]
    assert max(masked.details["leaves"]) <= 600 / 5
    smooth = synthetic_trees(told, x, Three(1), draw=draw, smoothing=True)
    assert not np.isin(smooth.matrix, x).any()
    assert not smooth.warnings
    assert (smooth.matrix.min(axis=0) > x.min(axis=0)).all()
    assert (smooth.matrix.max(axis=0) < x.max(axis=0)).all()
    again = synthetic_trees(told, x, Three(1), draw=draw)
    assert np.array_equal(again.matrix, masked.matrix)


def test_humps_over_s_and_among_the_confidential_are_kept(hump):
    told, x = hump
    y = synthetic_trees(told, x, np.random.default_rng(2)).matrix

    def explained(values, by):
        bins = pd.qcut(by, 12, labels=False)
        means = np.array([values[bins == k].mean() for k in range(12)])
        return 1 - np.var(values - means[bins]) / np.var(values)

    assert explained(y[:, 0], told["s"]) > 0.85
    assert explained(y[:, 1], y[:, 0]) > 0.85
    assert explained(np.random.default_rng(3).permutation(y[:, 1]), y[:, 0]) < 0.2


def test_a_record_gets_its_own_value_about_once_in_its_leaf(hump):
    """True values return to their own record: what makes Y depend on X given S."""
    told, x = hump
    own = [
        (synthetic_trees(told, x[:, 0], np.random.default_rng(i)).matrix == x[:, :1]).mean()
        for i in range(20)
    ]
    found = synthetic_trees(told, x[:, 0], np.random.default_rng(0))
    expected = found.details["leaves"][0] / 600
    error = np.sqrt(expected / 600 / 20) * 2
    assert abs(np.mean(own) - expected) < stats.norm.isf(FALSE_ALARM / 2) * error
    assert expected > 0.08


def test_draws_in_a_leaf_are_uniform_and_repeat_as_often_as_they_should(assert_distribution):
    """Two plain draws of 6 agree with chance 1/6; under Dirichlet weights with 2/7."""
    rng = np.random.default_rng(31)
    sizes = np.array([6, 9])
    true = np.repeat([1, 0], [9, 6])[rng.permutation(15)]
    members = {leaf: np.flatnonzero(true == leaf) for leaf in (0, 1)}
    wanted = np.array([0, 0, 1])
    agree = {"plain": 1 / 6, "bayesian-bootstrap": 2 / 7}
    for draw, chance in agree.items():
        drawn = np.array([_drawn(true, wanted, 2, draw, rng) for _ in range(3000)])
        for column, leaf in enumerate(wanted):
            seen = np.array([(drawn[:, column] == i).sum() for i in members[leaf]])
            assert_distribution(seen, np.full(sizes[leaf], 3000 / sizes[leaf]))
        same = int((drawn[:, 0] == drawn[:, 1]).sum())
        assert_distribution([same, 3000 - same], [3000 * chance, 3000 * (1 - chance)])
        other = next(value for value in agree.values() if value != chance)
        with pytest.raises(AssertionError):
            assert_distribution([same, 3000 - same], [3000 * other, 3000 * (1 - other)])


def test_leaves_hold_enough_records(hump):
    _, x = hump
    for least in (2, 5, 40):
        true, found, leaves = _leaves(x[:, :1], x[:, 1], x[:, :1], least, Three(1))
        assert np.bincount(true).min() >= least
        assert np.array_equal(true, found)
        assert true.max() == leaves - 1


def test_large_numbers_that_differ_little_stay_apart(hump):
    told, x = hump
    far = told.assign(s=told["s"] + 1e9)
    near = synthetic_trees(told["s"], x, np.random.default_rng(4)).matrix
    moved = synthetic_trees(far["s"], x, np.random.default_rng(4)).matrix
    assert (near == moved).mean() > 0.99


def test_without_s_the_first_column_is_drawn_alone(hump):
    _, x = hump
    masked = synthetic_trees(None, x, np.random.default_rng(5))
    assert masked.details["leaves"][0] == 1
    assert abs(np.corrcoef(masked.matrix[:, 0], x[:, 0])[0, 1]) < 5 / np.sqrt(600)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"min_leaf": 1}, "min_leaf"), ({"draw": "any"}, "draw"), ({"min_leaf": 301}, "at most half")],
)
def test_wrong_options_are_told(hump, options, words):
    with pytest.raises(OptionError, match=words):
        synthetic_trees(*hump, np.random.default_rng(1), **options)


def test_the_extra_is_named_where_it_is_missing(hump, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.tree", None)
    with pytest.raises(NotInstalled, match="scikit-learn"):
        synthetic_trees(*hump, np.random.default_rng(1))
