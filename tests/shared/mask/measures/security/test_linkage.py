"""Record linkage: certain, by chance, and with ties."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pramana_core.mask.measures.security_rows import coincidences
from pramana_core.mask.measures.snooper import (
    linkage,
    linkage_among_alike,
    linkage_by_matching,
    mean_rank,
    nearest,
    redrawn,
)


def test_y_equal_to_x_links_everybody():
    rng = np.random.default_rng(1)
    s, x = rng.standard_normal((2, 300, 2))
    other = redrawn(s, x, np.zeros_like(x), rng)
    for found in (
        linkage(x, x, other),
        linkage_among_alike(s, x, x, np.zeros_like(x), rng),
        linkage_by_matching(x, x, other, rng),
    ):
        assert found.rate == 1
        assert found.chance < 0.2
        assert found.p < 1e-6
    assert mean_rank(x, x, other, rng).rate == pytest.approx(1, abs=1 / 300)


def test_ties_share_the_credit():
    x = np.array([[0.0], [0.0], [0.0], [1.0], [5.0]])
    credit = nearest(x, x, np.arange(5))
    assert credit == pytest.approx([1 / 3, 1 / 3, 1 / 3, 1, 1])
    # 0.5 is as near to the three zeros as to the one.
    assert nearest(np.array([[0.5]]), x, np.array([0])) == pytest.approx([1 / 4])


def test_without_columns_each_record_is_a_guess():
    assert nearest(np.empty((4, 0)), np.empty((4, 0)), np.arange(4)).sum() == 1


def test_the_nearest_is_found_as_by_all_distances():
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal((2, 150, 2))
    distances = np.linalg.norm(x[:, None] - y[None], axis=2)
    expected = distances.argmin(axis=1) == np.arange(150)
    assert nearest(x, y, np.arange(150)).tolist() == expected.tolist()


def hump(told):
    """The true E(X|S) of the humped table."""
    curve = 3 - 4 * told[:, :1] ** 2 + told[:, 1:]
    return np.column_stack([curve, curve])


@pytest.mark.slow
def test_independent_y_links_by_chance(humped, independent, noisy):
    """One in ten among those alike in S, over 30 tables of 400; additive noise does more."""
    rates, controls = [], []
    for seed in range(30):
        table = humped(seed)
        rng = np.random.default_rng(seed)
        curve = hump(table[0])
        rates.append(linkage_among_alike(*table, independent(table, seed), curve, rng).rate)
        controls.append(linkage_among_alike(*table, noisy(table, seed), curve, rng).rate)

    def p(found):
        return stats.binomtest(round(400 * sum(found)), 400 * 30, 0.1).pvalue

    assert p(rates) > 1e-4
    assert p(controls) < 1e-12


@pytest.mark.slow
def test_y_drawn_again_links_as_well_as_independent_y(humped, independent, noisy):
    table = humped(3, 1000)
    told, true = table
    rng = np.random.default_rng(4)
    near = 0.8 * true + 0.2 * noisy(table, 5)
    for y, tells in ((independent(table, 5), False), (near, True)):
        other = redrawn(told, y, hump(told), rng)
        assert (mean_rank(true, y, other, rng).p < 1e-6) == tells
        assert (linkage_by_matching(true, y, other, rng).p < 1e-6) == tells


def test_records_with_equal_values_are_paired_at_random():
    """Of each group one is paired rightly on average (Poisson(1)): 6 of 300, and not all."""
    rng = np.random.default_rng(12)
    x = np.repeat(np.arange(6.0), 50)[:, None]
    other = redrawn(np.zeros((300, 1)), x, np.zeros_like(x), rng)
    found = linkage_by_matching(x, x, other, rng)
    assert 300 * found.rate <= stats.poisson.isf(1e-6, 6)
    # Where values differ, their owners are still found.
    different = x + np.arange(300.0)[:, None]
    assert linkage_by_matching(different, different, other, rng).rate == 1


def test_y_drawn_again_is_of_another_record_alike_in_s():
    rng = np.random.default_rng(6)
    own = np.arange(90.0)[:, None]
    for told in (rng.standard_normal((90, 2)), np.zeros((90, 1)), np.empty((90, 0))):
        assert (redrawn(told, own, np.zeros((90, 1)), rng) != own).all()
    told = np.repeat([0.0, 10.0, 20.0], 30)[:, None]
    other = redrawn(told, own, np.zeros((90, 1)), rng)
    assert (other // 30 == own // 30).all()
    moved = redrawn(told, told + 1, told, rng)
    assert moved == pytest.approx(told + 1)


def test_differences_in_s_among_those_alike_are_no_disclosure():
    """Y = S exactly: without moving Y to the person's S, it would find everybody."""
    rng = np.random.default_rng(10)
    s = np.arange(200.0)[:, None]
    x = s + 0.1 * rng.standard_normal((200, 1))
    y = s + 0.1 * rng.standard_normal((200, 1))
    assert linkage_among_alike(s, x, y, np.zeros_like(s), rng).rate > 0.9
    assert linkage_among_alike(s, x, y, s, rng).p > 1e-3


def test_equal_records_in_s_are_searched_fast():
    """Trees search all equal points; 30,000 of them in one place would take minutes."""
    rng = np.random.default_rng(8)
    told = rng.integers(0, 2, (30_000, 1)).astype(float)
    assert len(redrawn(told, told, told, rng)) == 30_000


def test_mean_rank_by_hand():
    x = np.array([[0.0], [1.0], [2.0]])
    y = np.array([[0.0], [2.0], [1.5]])
    # Distances from 0: 0 2 1.5; from 1: 1 1 .5; from 2: 2 0 .5. Own: 0, 1, .5; ties count half.
    found = mean_rank(x, y, y[[1, 2, 0]], np.random.default_rng(9))
    assert found.rate == pytest.approx(((2.5) + (0 + 1.0) + (1 + 0.5)) / 9)


# Masked values that are nearly the true ones, and how many of them are coincidence.


def test_true_values_are_no_coincidence():
    rng = np.random.default_rng(1)
    s, x = rng.standard_normal((2, 400, 1))
    found = coincidences(s, x, x, np.zeros((400, 1)), 0)
    assert found.found == 400
    assert found.expected < 10
    assert found.excess > 50


def test_expected_by_hand():
    """Y drawn from a coin's two sides: half of the other records have the side of X."""
    x = np.array([[0.0], [1.0]] * 30)
    y = np.array([[0.0], [0.0], [1.0], [1.0]] * 15)
    found = coincidences(np.empty((60, 0)), x, y, np.zeros((60, 1)), 0)
    assert found.found == 30
    # 30 records agree, and 29 of their 59 others would; of the rest 30 of 59.
    assert found.expected == pytest.approx((30 * 29 + 30 * 30) / 59)


@pytest.mark.slow
def test_coincidences_of_independent_values_are_as_expected(humped, independent, noisy):
    """Over 40 tables the excess is a standard number; of additive noise it is not."""
    excess, control = [], []
    for seed in range(40):
        table = humped(seed)
        told, true = table
        curve = 3 - 4 * told[:, :1] ** 2 + told[:, 1:]
        for y, rows in ((independent(table, seed), excess), (noisy(table, seed), control)):
            found = coincidences(told, true, y, np.column_stack([curve, curve]), 0, near=0.1)
            rows.append(found.excess)
    assert abs(np.mean(excess)) < 5 / np.sqrt(40)
    assert np.mean(control) > 5 / np.sqrt(40)


def test_one_value_given_away_is_an_excess_of_one():
    rng = np.random.default_rng(2)
    s, x = rng.standard_normal((2, 60, 1))
    y = rng.standard_normal((60, 1)) + 50
    y[7] = x[7]
    found = coincidences(s, x, y, np.zeros((60, 1)), 0)
    assert found.found == 1
    assert found.excess == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("independent", [True, False])
def test_a_value_of_most_records_is_a_coincidence(independent):
    """Nine of ten records are 0, fewer where S is large: that true values stand at 0 is no news."""
    rng = np.random.default_rng(3)
    s = rng.standard_normal((4000, 1))
    zero = 1 / (1 + np.exp(s[:, 0] - 2.5))
    x, y = (np.where(rng.random(4000) < zero, 0, rng.gamma(2, 1, 4000))[:, None] for _ in range(2))
    found = coincidences(s, x, y if independent else x, 2 * (1 - zero)[:, None], 0)
    if independent:
        assert found.found > 2800
        assert abs(found.excess) < 5
    else:
        assert found.found == 4000
        assert found.excess > 20
