"""The experiments on Ma (2006) chapter 5, each run once in its quick form.

Their theory is held against enumeration and quadrature, their verdicts against made-up tables.

Random results have a stated false-alarm rate and a negative control; everything else is exact.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, stats

from benchmarks.reproduce import data, engine
from benchmarks.reproduce.engine import Setting
from benchmarks.reproduce.ma import ma_5, ma_table_5_2, structures
from pramana import setups
from pramana.setups import SeededOwner
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.networks.bayes_net import learn_parameters
from pramana_core.marginals.counts import ReportedCounts

pytestmark = pytest.mark.calibration

QUICK = Setting(seed=3, quick=True)

FLIP = np.array([[0.75, 0.25], [0.25, 0.75]])


# --- the errors of theory ------------------------------------------------------------------------


def test_the_covariance_is_that_of_all_possible_reports():
    """Five records of two binary variables: all 1,024 reports with their probabilities."""
    cells = [0, 0, 1, 2, 3]
    joint = np.kron(FLIP, FLIP)
    inverse = np.linalg.inv(joint)
    mean, second = np.zeros(4), np.zeros((4, 4))
    for reports in itertools.product(range(4), repeat=len(cells)):
        chance = math.prod(joint[t, r] for t, r in zip(cells, reports, strict=True))
        estimate = np.bincount(reports, minlength=4) @ inverse
        mean += chance * estimate
        second += chance * np.outer(estimate, estimate)
    true = np.bincount(cells, minlength=4).astype(float)
    assert np.allclose(mean, true, atol=1e-12)
    found = engine.covariance(true.reshape(2, 2), [FLIP, FLIP])
    assert np.allclose(found, second - np.outer(mean, mean), atol=1e-12)


def test_parameter_errors_are_the_products_own_on_expected_reports():
    """Reports as often as expected: the product's axis-wise errors, without Kronecker products."""
    true = np.array([[[256, 512], [128, 384]], [[640, 64], [192, 320]]])
    reported = np.einsum("abc,ai,bj,ck->ijk", true, FLIP, FLIP, FLIP)
    assert (reported == reported.round()).all()
    cells = np.repeat(np.arange(8), reported.ravel().astype(int))
    columns = dict(zip("BCD", np.unravel_index(cells, (2, 2, 2)), strict=True))
    codes = {name: column.astype(np.uint8) for name, column in columns.items()}
    plan = data.six_plan(0.25, "BCD")
    marginals = EstimatedMarginals(ReportedCounts(codes, plan.reported_sizes), plan)
    (*_, family) = learn_parameters(marginals, data.family("D")).families
    errors = engine.parameter_errors(true.astype(float), [FLIP] * 3)
    assert np.allclose(family.se_records, errors, rtol=1e-6)
    assert not np.allclose(family.se, errors, rtol=1e-3)


# --- figure 5.1 ----------------------------------------------------------------------------------


def ratio() -> ma_5.RatioOfNormals:
    return ma_5.RatioOfNormals((300.0, 900.0), (60.0, 80.0), 0.6)


def exact_density(w: float) -> float:
    """The density of a ratio of normals, by quadrature over the denominator."""
    made = ratio()
    cross = made.rho * made.deviations[0] * made.deviations[1]
    spread = [[made.deviations[0] ** 2, cross], [cross, made.deviations[1] ** 2]]
    both = stats.multivariate_normal(made.means, spread)
    value, _ = integrate.quad(lambda y: abs(y) * both.pdf([w * y, y]), 300, 1500, epsabs=1e-12)
    return value


@pytest.mark.parametrize("w", [0.15, 0.25, 1 / 3, 0.4, 0.5])
def test_hinkleys_density_is_that_of_a_ratio(w: float):
    assert ratio().density(np.array(w)) == pytest.approx(exact_density(w), rel=1e-4)


def test_hinkleys_deviate_belongs_to_the_density():
    at = np.linspace(0.1, 0.55, 4001)
    below = integrate.cumulative_trapezoid(ratio().density(at), at, initial=0)
    assert np.allclose(ratio().cdf(at), below + ratio().cdf(at[:1]), atol=2e-3)


def test_simulated_estimates_are_centred_and_spread_as_theory_says():
    """20,000 draws; mean and variance at a false-alarm rate of 1e-6 each."""
    found = ma_5.simulate(0.2, 8_000, 20_000, np.random.default_rng(8))
    made = ma_5.RatioOfNormals.of_parameter(ma_5.equal(8_000), 0.2)
    limit = stats.norm.isf(5e-7)
    assert abs(found.mean() - 0.5) <= limit * made.normal_deviation / math.sqrt(found.size)
    statistic = (found.size - 1) * found.var(ddof=1) / made.normal_deviation**2
    low, high = stats.chi2.ppf([5e-7, 1 - 5e-7], found.size - 1)
    assert low <= statistic <= high
    assert not low <= statistic * 1.1 <= high


# --- figures 5.5, 5.7, 5.8 -----------------------------------------------------------------------


def test_the_predicted_p_has_the_mean_absolute_error():
    counts = data.counted(data.six_sample(8_000, np.random.default_rng(2)), "D")
    p = ma_5.predicted(counts, 0.04)
    spread = ma_5.theory(counts, p)
    means = [
        integrate.quad(lambda x, s=s: 2 * x * stats.norm.pdf(x, 0, s), 0, 8 * s)[0] for s in spread
    ]
    assert np.mean(means) == pytest.approx(0.04, rel=1e-6)
    assert ma_5.predicted(4 * counts, 0.04) > p


def test_the_conditional_distance_by_hand():
    counts = np.array([[30.0, 10.0], [0.0, 60.0]])
    estimate = np.array([[0.5, 0.5], [0.2, 0.8]])
    by_hand = 0.4 * (0.75 * math.log(1.5) + 0.25 * math.log(0.5)) + 0.6 * math.log(1 / 0.8)
    assert structures.conditional_kl(counts, estimate) == pytest.approx(by_hand)
    information = (
        0.3 * math.log(0.3 / (0.4 * 0.3))
        + 0.1 * math.log(0.1 / (0.4 * 0.7))
        + 0.6 * math.log(0.6 / (0.6 * 0.7))
    )
    assert structures.ignoring_parents(counts) == pytest.approx(information)


def test_the_predicted_distance_is_the_mean_of_small_errors():
    """400 tables of estimates: the mean distance, at a false-alarm rate of 1e-6."""
    rng = np.random.default_rng(9)
    counts = np.array([[9_000.0, 6_000.0], [4_000.0, 11_000.0]])
    flip = np.array([[0.9, 0.1], [0.1, 0.9]])
    joint = np.kron(flip, flip)
    reported = sum(
        rng.multinomial(int(n), row, size=400) for n, row in zip(counts.ravel(), joint, strict=True)
    )
    estimates = (reported @ np.linalg.inv(joint)).reshape(-1, 2, 2)
    found = [
        structures.conditional_kl(counts, e / e.sum(axis=-1, keepdims=True)) for e in estimates
    ]
    error = np.std(found, ddof=1) / math.sqrt(len(found))
    limit = stats.norm.isf(5e-7) * error
    assert abs(np.mean(found) - structures.predicted(counts, 0.1)) <= limit
    assert abs(np.mean(found) - structures.predicted(counts, 0.15)) > limit


# --- table 5.2 -----------------------------------------------------------------------------------


def test_the_printed_table_has_every_parameter():
    printed = ma_table_5_2.printed()
    assert sum(len(means) for means, _ in printed.values()) == 64
    for node, (means, deviations) in printed.items():
        size = setups.DOMAIN[node].size
        assert np.allclose(means.reshape(size, -1).sum(axis=0), 1, atol=0.025)
        assert means == pytest.approx(
            ma_table_5_2.in_order(setups.network().tables[node]), abs=0.05
        )
        assert (deviations < 0.06).all()


def test_without_a_miner_only_sensitive_cross_parents_are_randomized():
    """By hand: E -> X; L -> E, B -> D, X -> C; C -> G. T and S are not sensitive."""
    views = dict(zip(setups.OWNERS, ma_table_5_2.PEERS, strict=True))
    assert views["laboratory"].randomized == ("E",)
    assert views["registry"].randomized == ("L", "B", "X")
    assert views["clinic"].randomized == ("C",)
    (miner,) = ma_table_5_2.MINER
    assert set(miner.randomized) == set(setups.CHANNELS)


def test_both_cases_see_the_same_randomized_records():
    """Perturb once: what a peer gets of C is what the miner gets."""
    codes = ma_table_5_2.sample(QUICK)
    owner = SeededOwner.of("test", 1, setups.RECORDS)
    (miner,), clinic = ma_table_5_2.MINER, ma_table_5_2.PEERS[0]
    at_miner, at_clinic = (owner.report(view.plan, codes, 2) for view in (miner, clinic))
    assert (at_miner.table(["C", "G"]) == at_clinic.table(["C", "G"])).all()
    assert (at_miner.table(["A", "C"]) != at_clinic.table(["A", "C"])).any()


def test_parameters_without_a_miner_by_the_formulas_of_5_2_1():
    """Node X of the laboratory: its own column exact; E with p = 0.2, inverted by hand."""
    codes = ma_table_5_2.sample(QUICK)
    owner = SeededOwner.of("test", 1, setups.RECORDS)
    found = ma_table_5_2.learn(owner, codes, ma_table_5_2.PEERS, 0)
    start = sum(setups.network().tables[n].size for n in ("A", "T", "S", "L", "B", "E", "D"))
    table = owner.report(ma_table_5_2.PEERS[1].plan, codes, 0).table(["E", "X"])
    counts = np.array([[0.8, -0.2], [-0.2, 0.8]]) / 0.6 @ table
    by_hand = (counts / counts.sum(axis=1, keepdims=True)).T.ravel()
    assert found[start : start + 4] == pytest.approx(by_hand, rel=1e-6)
    exact = codes["A"] == 0
    assert found[0] == pytest.approx(exact.mean())


# --- all of them ---------------------------------------------------------------------------------
