"""The trees draw true values from leaves large enough, one column after the other."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pramana_core.errors import NotInstalled, OptionError
from pramana_core.mask.catalogue import _drawn, _leaves, synthetic_copula, synthetic_trees
from pramana_core.mask.core.inputs import normal_scores

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


# The copula baseline draws from the conditional law that it states.


RECORDS = 4000


LIMIT = stats.norm.isf(FALSE_ALARM / 2)


def monotonic(rng, n=RECORDS):
    """Log-normal X1 and X2 over one normal column and one of categories."""
    s = rng.standard_normal(n)
    group = rng.integers(0, 3, n)
    z1 = 0.7 * s + 0.4 * (group == 2) + rng.standard_normal(n)
    z2 = -0.5 * s + 0.6 * z1 + rng.standard_normal(n)
    told = pd.DataFrame({"s": s, "group": np.array(list("abc"))[group]})
    return told, np.exp(np.column_stack([z1, z2]) / 2)


def partial(a, b, told):
    """The z-score of the correlation of a and b given columns that are told."""
    basis = np.linalg.qr(np.column_stack([np.ones(len(a)), told]))[0]
    a, b = (v - basis @ (basis.T @ v) for v in (a, b))
    r = a @ b / np.sqrt((a @ a) * (b @ b))
    return np.arctanh(r) * np.sqrt(len(a) - told.shape[1] - 3)


def features(told):
    return np.column_stack([told["s"], told["group"] == "b", told["group"] == "c"])


def test_values_given_s_tell_nothing_of_x():
    rng = np.random.default_rng(11)
    told, x = monotonic(rng)
    masked = synthetic_copula(told, x, rng).matrix
    scores, made = normal_scores(x), normal_scores(masked)
    for i in range(2):
        for j in range(2):
            assert abs(partial(scores[:, i], made[:, j], features(told))) < LIMIT
    leaking = scores[:, 0] + 3 * rng.standard_normal(RECORDS)
    assert abs(partial(scores[:, 0], leaking, features(told))) > LIMIT


def test_rank_dependence_and_group_means_are_kept():
    rng = np.random.default_rng(12)
    told, x = monotonic(rng)
    masked = synthetic_copula(told, x, rng).matrix
    error = np.sqrt(2 / RECORDS)
    for first, second in ((x, masked), (normal_scores(x), normal_scores(masked))):
        before = stats.spearmanr(np.column_stack([told["s"], first])).statistic
        after = stats.spearmanr(np.column_stack([told["s"], second])).statistic
        assert np.abs(before - after).max() < LIMIT * error
    shuffled = rng.permutation(masked)
    after = stats.spearmanr(np.column_stack([told["s"], shuffled])).statistic
    assert np.abs(before - after).max() > LIMIT * error


def test_marginals_are_the_empirical_ones(assert_distribution):
    rng = np.random.default_rng(13)
    told, x = monotonic(rng)
    masked = synthetic_copula(told, x, rng).matrix
    edges = np.quantile(x[:, 0], np.linspace(0, 1, 11))

    def counts(values):
        return np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0]

    # Both samples vary: against the other's counts the statistic is at most twice a chi-square.
    assert_distribution(counts(masked[:, 0]) / 2, counts(x[:, 0]) / 2)
    normal = rng.normal(x[:, 0].mean(), x[:, 0].std(), RECORDS)
    with pytest.raises(AssertionError):
        assert_distribution(counts(normal) / 2, counts(x[:, 0]) / 2)
    assert masked.min() >= x.min()
    assert masked.max() <= x.max()
    assert np.isin(masked[:, 0], x[:, 0]).mean() < 0.01


def test_there_may_be_no_s():
    rng = np.random.default_rng(14)
    assert synthetic_copula(None, monotonic(rng, 200)[1][:, 0], rng).values.shape == (200,)
