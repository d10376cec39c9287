"""Ma's chapters 2, 3 and 7.1.3: distributions, bounds and errors by brute force and closed forms.

Random results are compared with distributions at a stated false-alarm rate, and a negative control
beside each must be found out.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate

from benchmarks.reproduce import distributions as given
from benchmarks.reproduce.ma import itemsets, ma_2, ma_3
from pramana_core.channels import Identity, Symmetric
from pramana_core.discretize import Discretization

pytestmark = pytest.mark.calibration

FALSE_ALARM = 1e-6


def matrix(size: int, p: float, groups: list[list[int]] | None = None) -> np.ndarray:
    """Ma 2.1 and 2.2, entry by entry."""
    made = np.zeros((size, size))
    for group in groups or [list(range(size))]:
        for a, b in itertools.product(group, group):
            made[a, b] = 1 - p if a == b else p / (len(group) - 1)
    return made


# --- Ma 2.2 --------------------------------------------------------------------------------------


def test_table_2_1_lacks_a_twentieth():
    total = sum((entry for row in given.PRINTED for entry in row), Fraction(0))
    assert total == Fraction(19, 20)
    assert [len(row) for row in given.PRINTED] == [5] * 5
    pmf = given.pmf()
    assert math.isclose(pmf.sum(), 1, rel_tol=1e-12)
    assert math.isclose(pmf[0, 1] / pmf[0, 0], 12)
    assert (pmf == 0).sum() == 10


def test_error_bars_of_figure_2_2_follow_theorem_2(quick):
    """The estimated errors are near those of the true counts, by the dense formula."""
    found = quick("ma-2.2").result.tables["counts"]
    joint = np.kron(matrix(5, ma_2.P), matrix(5, ma_2.P))
    true = found["true"].to_numpy()
    spread = sum(
        n * (np.diag(row) - np.outer(row, row)) for n, row in zip(true, joint, strict=True)
    )
    inverse = np.linalg.inv(joint)
    exact = np.sqrt(np.diag(inverse.T @ spread @ inverse))
    # The observed reports stand for the expected ones: their relative error is about 1/sqrt(100).
    assert np.allclose(found["moment_se"], exact, rtol=0.15)
    assert not np.allclose(found["moment_se"], 1.3 * exact, rtol=0.15)


# --- Ma 2.3 --------------------------------------------------------------------------------------


def test_the_two_triangles_are_a_density():
    area, _ = integrate.quad(lambda x: float(given.density(np.array(x))), 0, 24, points=[6, 12, 18])
    assert math.isclose(area, 1, rel_tol=1e-9)
    points = np.array([0.0, 6, 12, 18, 24, 3, 25])
    assert np.allclose(given.density(points), np.array([0, 2, 0, 2, 0, 1, 0]) / 24)


def test_samples_follow_the_two_triangles(assert_distribution):
    values = given.triangle_sample(40_000, np.random.default_rng(2))
    seen, edges = np.histogram(values, bins=24, range=(0, 24))
    middle = (edges[:-1] + edges[1:]) / 2  # exact: the density is linear within each bin
    wanted = 40_000 * given.density(middle)
    assert_distribution(seen, wanted, false_alarm=FALSE_ALARM)
    with pytest.raises(AssertionError, match="chi-square"):
        assert_distribution(seen, np.roll(wanted, 1), false_alarm=FALSE_ALARM)


def test_distance_of_four_flat_pieces_is_one_half():
    """By hand: on each quarter |f - 1/24| is two triangles of area 1/16."""
    quarters = Discretization((6.0, 12.0, 18.0), (3.0, 9.0, 15.0, 21.0))
    distance = given.l1_distance(quarters, np.full(4, 25.0))
    assert math.isclose(distance, 0.5, rel_tol=1e-5)
    assert np.allclose(given.heights(quarters, np.full(4, 25.0)), 1 / 24)


# --- Ma 3.1 and 3.2 ------------------------------------------------------------------------------


def test_figure_3_1_is_the_printed_double_sum(quick):
    found = quick("ma-3.1").result.tables["entropy"]
    groups = {"two groups of three": [[0, 1, 2], [3, 4, 5]]}
    for scheme, p, entropy in found.iloc[::5].itertuples(index=False):
        size = 2 if scheme == "binary" else 6
        joint = matrix(size, p, groups.get(scheme)) / size
        total = 0.0
        for true, seen in itertools.product(range(size), range(size)):
            if joint[true, seen] > 0:
                posterior = joint[true, seen] / sum(joint[:, seen])
                total -= joint[true, seen] * math.log2(posterior)
        assert math.isclose(entropy, total, abs_tol=1e-6)


def test_figure_3_2_is_the_worst_binary_posterior(quick):
    """The bound by another way: Bayes' rule on the worst likelihood ratio, gamma to 1."""
    found = quick("ma-3.2").result.tables["bound"]
    assert set(found["gamma"]) == set(ma_3.GAMMAS)
    for g, prior, bound in found.iloc[::7].itertuples(index=False):
        assert math.isclose(bound, prior * g / (prior * g + (1 - prior)), rel_tol=1e-12)


# --- Ma 3.3 --------------------------------------------------------------------------------------


def test_the_error_predicted_of_log_odds_is_that_of_expected_counts():
    """Woolf's, without noise; with noise by the delta method on the table of expected reports."""
    bits = Symmetric.from_probability(2, 0.2)
    clean = ma_3.predicted_log_odds_se(Identity(2), Identity(2))
    assert clean == pytest.approx(4 / math.sqrt(ma_3.RECORDS))
    matrix = np.kron(bits.matrix(), bits.matrix())
    slopes = np.linalg.inv(matrix) @ np.array([4.0, -4.0, -4.0, 4.0])
    wanted = math.sqrt(float(np.square(slopes).mean()) / ma_3.RECORDS)
    assert ma_3.predicted_log_odds_se(bits, bits) == pytest.approx(wanted)
    assert wanted > 2 * clean


# --- Ma 3.4 --------------------------------------------------------------------------------------


def test_divergence_by_hand():
    pmf, counts = np.array([0.5, 0.5, 0.0]), np.array([30.0, 0.0, 10.0])
    mixed = [0.99 * 0.75 + 0.01 / 3, 0.01 / 3, 0.99 * 0.25 + 0.01 / 3]
    by_hand = 0.5 * math.log2(0.5 / mixed[0]) + 0.5 * math.log2(0.5 / mixed[1])
    assert math.isclose(ma_3.divergence(pmf, counts), by_hand)


# --- Ma 7.3 --------------------------------------------------------------------------------------


@pytest.mark.parametrize("items", itemsets.GROUPS)
def test_figure_7_3_by_enumeration(quick, items: int):
    """Both matrices over all 2^|G| cells, ratios within columns; the marginal by summing out."""
    found = quick("ma-7.3").result.tables["gamma"]
    cells = list(itertools.product((0, 1), repeat=items))
    for _, row in found[found["items"] == items].iloc[::6].iterrows():
        together = matrix(len(cells), row["p"])
        one = np.zeros((2, 2))
        for reported, cell in enumerate(cells):
            one[0, cell[0]] += together[0, reported]
            one[1, cell[0]] += together[-1, reported]
        apart = one
        for _ in range(items - 1):
            apart = np.kron(apart, one)
        worst = [(m.max(axis=0) / m.min(axis=0)).max() for m in (together, apart, one)]
        seen = [row["gamma_s"], row["gamma_independent"], row["gamma_item"]]
        assert np.allclose(seen, worst, rtol=1e-6)
