"""FRAPP's equation 9 on systems whose error is known, and on reports of a small survey."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.reproduce.engine import Setting
from benchmarks.reproduce.frapp import itemset_errors, matrices
from benchmarks.reproduce.frapp.itemset_errors import System, of_tables, systems
from benchmarks.reproduce.frapp.mechanisms import papers_mechanisms
from benchmarks.reproduce.run import select
from pramana.setups import SeededOwner
from pramana_core.channels import Symmetric
from pramana_core.estimation.estimated import EstimatedMarginals
from tests.benchmarks.reproduce.test_frapp import fewer_columns, health_frame, survey

pytestmark = pytest.mark.calibration


def solved(matrix: np.ndarray, truth: np.ndarray, off: np.ndarray) -> System:
    made = System.of(matrix, truth, matrix @ truth + off)
    assert made is not None
    return made


def test_the_bound_is_met_in_the_worst_direction_and_holds_in_all():
    rng = np.random.default_rng(3)
    for _ in range(50):
        matrix = rng.random((5, 5))
        left, values, right = np.linalg.svd(matrix)
        # X along the strongest direction, the reports' error along the weakest.
        worst = solved(matrix, right[0], 0.01 * left[:, -1])
        assert worst.condition == pytest.approx(values[0] / values[-1])
        assert worst.error == pytest.approx(worst.condition * worst.deviation, rel=1e-6)
        other = solved(matrix, rng.random(5), rng.normal(size=5))
        assert other.error <= other.condition * other.deviation * (1 + 1e-9)


def test_eigenvalues_do_not_bound_the_error_of_a_skew_matrix():
    matrix = np.array([[1.0, 5.0], [0.0, 1.0]])
    left, _, right = np.linalg.svd(matrix)
    made = solved(matrix, right[0], 0.01 * left[:, -1])
    assert made.eigenvalues == pytest.approx(1.0)
    assert made.error > 10 * made.eigenvalues * made.deviation


def test_what_has_no_inverse_is_left_out():
    assert System.of(np.ones((2, 2)), np.ones(2), np.ones(2)) is None


def test_a_passed_bound_is_found_out():
    cases = pd.DataFrame({"error": [1.0, 2.0], "bound": [1.0, 3.0]})
    assert itemset_errors.holds(cases).agrees is True
    assert itemset_errors.holds(cases.assign(bound=[0.99, 3.0])).agrees is False


@pytest.fixture(scope="module")
def table():
    return survey(4000, (3, 2, 2), 4)


def reports(table, place: int, run: int = 0):
    mechanism = papers_mechanisms(table.domain)[place]
    owner = SeededOwner.of("bound", 5, table.records)
    return mechanism, owner.report(mechanism.plan, table.codes, run)


def test_tables_are_the_products_own_estimates(table):
    for place in (0, 1):
        mechanism, reported = reports(table, place)
        found = [system for _, system in of_tables(mechanism, table, reported)]
        assert len(found) == 7
        whole = EstimatedMarginals(reported, mechanism.plan).marginal(table.domain.names)
        np.testing.assert_allclose(found[-1].estimate, whole.counts.ravel(), rtol=1e-9)
        closed = 1 + 12 / 18  # 1 + |S| / (gamma - 1)
        assert found[-1].condition == pytest.approx(closed, rel=1e-6)


def test_masks_first_item_by_hand(table):
    mechanism, reported = reports(table, 2)
    item = next(iter(sorted(s for s in table.itemsets if len(s) == 1)))
    system = next(s for k, s in systems(mechanism, table, reported) if k == 1)
    flip = mechanism.plan.blocks[0].channel.as_dict()["flip"] / 2**32
    told = int((np.asarray(reported.column("v0")).astype(int) >> item[0] & 1).sum())
    ones = (told - flip * table.records) / (1 - 2 * flip)
    assert system.estimate == pytest.approx([table.records - ones, ones])
    assert system.condition == pytest.approx(1 / (1 - 2 * flip))
    assert system.truth[1] == (table.codes["v0"] == item[0]).sum()


def test_moments_of_squares_by_listing_the_matrix():
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 50, 12).astype(float)
    channel = Symmetric.from_gamma(12, 19.0)
    matrix, records = channel.matrix().T, truth.sum()
    expected = matrix @ truth
    printed = expected * (1 - expected / records)  # FRAPP eq. 10 as printed
    printed -= ((matrix - expected[:, None] / records) ** 2) @ truth
    covariance = np.diag(expected) - (matrix * truth) @ matrix.T
    found = itemset_errors.moments_of_squares(channel, truth)
    assert found == pytest.approx((printed.sum(), math.sqrt(2 * (covariance**2).sum())))


def test_equation_10_is_checked_with_a_negative_control(table):
    mechanism = papers_mechanisms(table.domain)[0]
    owner = SeededOwner.of("bound", 6, table.records)
    squared = []
    for run in range(40):
        *_, (_, whole) = of_tables(mechanism, table, owner.report(mechanism.plan, table.codes, run))
        squared.append(float(((whole.reports - whole.expected) ** 2).sum()))
    assert itemset_errors.variance(table, mechanism, squared).agrees is True
    assert itemset_errors.variance(table, mechanism, [2 * s for s in squared]).agrees is False


def test_growing_errors_are_told_from_falling_ones():
    def means(errors: list[float]) -> pd.DataFrame:
        names = ("DET-GD", "MASK", "C&P")
        return pd.concat(
            pd.DataFrame({"mechanism": n, "condition": [2.0, 4.0, 8.0], "error": errors})
            for n in names
        )

    assert itemset_errors.decides(means([0.1, 0.2, 0.4])).agrees is True
    assert itemset_errors.decides(means([0.1, 0.4, 0.2])).agrees is False


def test_the_bound_on_a_small_survey(table):
    shares: list[float] = []
    setting = Setting(seed=2, quick=True, progress=shares.append)
    result = itemset_errors.compared(setting, "frapp-9", table)
    assert shares[-1] == pytest.approx(1)
    assert all(finding.agrees is not False for finding in result.findings)
    means = result.tables["means"]
    assert (means["tightest"] >= 1 - 1e-9).all()
    assert (means["loose"] >= means["tightest"] * (1 - 1e-9)).all()
    diagonal = means[means["mechanism"] == "DET-GD"]["condition"]
    assert math.isclose(diagonal.min(), diagonal.max(), rel_tol=1e-9)


def test_the_bound_on_a_table_of_healths_form(tmp_path: Path, monkeypatch):
    fewer_columns(monkeypatch)
    health_frame(3000).to_csv(tmp_path / "health.csv", index=False)
    (experiment,) = select(["frapp-9-health"])
    result = experiment.run(Setting(seed=1, quick=True, data=tmp_path))
    assert result.findings[0].agrees is True
    assert set(result.tables["means"]["length"]) == set(range(1, 4))


# --- equation 18 ---------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [4, 16, 64])
def test_the_hadamard_channel_in_closed_form(size: int):
    gamma, root = 5.0, math.isqrt(size)
    matrix = matrices.hadamard_channel(size, gamma)
    np.testing.assert_allclose(matrix.sum(axis=1), 1)
    assert (matrix == matrix.T).all()
    assert matrices.amplification(matrix) == pytest.approx(gamma)
    ones = (size - root) // 2  # in each row; the other eigenvalues are (gamma - 1) / 2 sqrt(n) x
    closed = 2 * (ones * gamma + size - ones) / ((gamma - 1) * root)
    assert matrices.condition_number(matrix) == pytest.approx(closed)
    if size > 4:
        assert np.linalg.eigvalsh(matrix).min() < 0


def test_the_gamma_diagonal_matrix_meets_equation_18():
    for size in (2, 5, 9):
        matrix = Symmetric.from_gamma(size, 19.0).matrix()
        assert matrices.condition_number(matrix) == pytest.approx(
            matrices.least_positive(size, 19.0), rel=1e-6
        )


def test_balanced_matrices_are_symmetric_and_stochastic():
    made = np.random.default_rng(2).uniform(1, 19, (6, 6))
    matrix = matrices.balanced((made + made.T) / 2)
    np.testing.assert_allclose(matrix.sum(axis=1), 1)
    np.testing.assert_allclose(matrix, matrix.T)


def test_a_lower_condition_number_is_found_out():
    assert matrices.definite([1.2, 1.0]).agrees is True
    assert matrices.definite([1.2, 0.99]).agrees is False
    table = pd.DataFrame({"gamma": 3.0, "size": [16], "gamma_diagonal": [9.0], "hadamard": [10.0]})
    assert matrices.symmetric(table, 3.0).agrees is True
    assert matrices.symmetric(table.assign(hadamard=7.0), 3.0).agrees is False


def test_equation_18_at_another_seed_than_the_pinned():
    found = matrices.run_18(Setting(seed=2, quick=True)).findings
    assert [f.agrees for f in found] == [True, False, False]
