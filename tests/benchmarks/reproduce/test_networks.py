"""The networks of Ma's chapter 5 and of MaSiv: theory by enumeration and quadrature.

Random results have a stated false-alarm rate and a negative control; everything else is exact.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

from benchmarks.reproduce import networks
from benchmarks.reproduce.engine import Setting
from benchmarks.reproduce.ma import eleven_nodes, law, parameters, structures
from benchmarks.reproduce.networks import MINER, PEERS, learner_of, learners
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
    found = networks.covariance(true.reshape(2, 2), [FLIP, FLIP])
    assert np.allclose(found, second - np.outer(mean, mean), atol=1e-12)


def test_parameter_errors_are_the_products_own_on_expected_reports():
    """Reports as often as expected: the product's axis-wise errors, without Kronecker products."""
    true = np.array([[[256, 512], [128, 384]], [[640, 64], [192, 320]]])
    reported = np.einsum("abc,ai,bj,ck->ijk", true, FLIP, FLIP, FLIP)
    assert (reported == reported.round()).all()
    cells = np.repeat(np.arange(8), reported.ravel().astype(int))
    columns = dict(zip("BCD", np.unravel_index(cells, (2, 2, 2)), strict=True))
    codes = {name: column.astype(np.uint8) for name, column in columns.items()}
    plan = networks.six_plan(0.25, "BCD")
    marginals = EstimatedMarginals(ReportedCounts(codes, plan.reported_sizes), plan)
    (*_, family) = learn_parameters(marginals, networks.family("D")).families
    errors = networks.parameter_errors(true.astype(float), [FLIP] * 3)
    assert np.allclose(family.se_records, errors, rtol=1e-6)
    assert not np.allclose(family.se, errors, rtol=1e-3)


# --- figure 5.1 ----------------------------------------------------------------------------------


def ratio() -> law.RatioOfNormals:
    return law.RatioOfNormals((300.0, 900.0), (60.0, 80.0), 0.6)


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
    found = law.simulate(0.2, 8_000, 20_000, np.random.default_rng(8))
    made = law.RatioOfNormals.of_parameter(law.equal(8_000), 0.2)
    limit = stats.norm.isf(5e-7)
    assert abs(found.mean() - 0.5) <= limit * made.normal_deviation / math.sqrt(found.size)
    statistic = (found.size - 1) * found.var(ddof=1) / made.normal_deviation**2
    low, high = stats.chi2.ppf([5e-7, 1 - 5e-7], found.size - 1)
    assert low <= statistic <= high
    assert not low <= statistic * 1.1 <= high


# --- figures 5.5, 5.7, 5.8 -----------------------------------------------------------------------


def test_the_conditional_distance_by_hand():
    counts = np.array([[30.0, 10.0], [0.0, 60.0]])
    estimate = np.array([[0.5, 0.5], [0.2, 0.8]])
    by_hand = 0.4 * (0.75 * math.log(1.5) + 0.25 * math.log(0.5)) + 0.6 * math.log(1 / 0.8)
    assert parameters.conditional_kl(counts, estimate) == pytest.approx(by_hand)
    information = (
        0.3 * math.log(0.3 / (0.4 * 0.3))
        + 0.1 * math.log(0.1 / (0.4 * 0.7))
        + 0.6 * math.log(0.6 / (0.6 * 0.7))
    )
    assert parameters.ignoring_parents(counts) == pytest.approx(information)


# --- setups --------------------------------------------------------------------------------------


def randomized(plan) -> str:
    return "".join(b.names[0] for b in plan.blocks if not b.channel.is_identity)


def test_a_site_has_its_own_columns_unrandomized():
    (miner,) = learners(MINER, 0.2)
    assert (randomized(miner.plan), miner.nodes) == ("ABCDEF", "ABCDEF")
    assert [(randomized(one.plan), one.nodes) for one in learners(PEERS, 0.2)] == [
        ("DEF", "ABC"),
        ("ABC", "DEF"),
    ]
    assert randomized(learner_of(MINER, 0.2, "D").plan) == "BCD"
    assert randomized(learner_of(PEERS, 0.2, "D").plan) == "BC"


def test_both_setups_see_the_same_draws_of_a_column():
    codes = networks.six_sample(500, np.random.default_rng(1))
    owner = SeededOwner.of("masiv", 1, 500)
    seen = [
        owner.report(one.plan, codes, 0) for setup in (MINER, PEERS) for one in learners(setup, 0.3)
    ]
    assert (seen[0].column("B") == seen[2].column("B")).all()
    # Reports are not in the records' order: whole tables are compared.
    truth = ReportedCounts(codes, dict.fromkeys(codes, 2)).table("ABC")
    assert (seen[1].table("ABC") == truth).all()
    assert (seen[0].table("ABC") != truth).any()


def test_nothing_is_in_error_where_nothing_is_randomized():
    codes = networks.six_sample(50_000, np.random.default_rng(5))
    owner = SeededOwner.of("masiv", 2, 50_000)
    for setup in (MINER, PEERS):
        seen = structures.estimates(owner, codes, setup, 0.0, 0)
        found = structures.structure(seen, structures.BIC["C* = 1"](0.0))
        assert set(found.links) == set(networks.STRUCTURE.links)
        learned = structures.with_parameters(seen, found)
        wanted = structures.with_parameters({"ABCDEF": structures._exact(codes)}, found)
        for node, table in wanted.tables.items():
            np.testing.assert_allclose(learned.tables[node], table, rtol=1e-9)


def test_without_a_miner_d_itself_has_no_error():
    counts = networks.counted(networks.six_sample(5000, np.random.default_rng(2)), "D")
    without = parameters.theory(counts, 0.2, exact=True)
    assert (without < parameters.theory(counts, 0.2)).all()
    assert parameters.theory(counts, 1e-9, exact=True) == pytest.approx(0, abs=1e-4)


def test_p_star_is_the_first_p_above_the_threshold(monkeypatch: pytest.MonkeyPatch):
    """Errors of 0.45 p in half of the runs and -0.45 p in the others."""
    codes = networks.six_sample(400, np.random.default_rng(3))
    clean = parameters.clean_of(networks.counted(codes, "D"))
    signs = np.repeat([1.0, -1.0], parameters.REPEATS // 2)[:, None]
    errors = lambda owner, codes, setup, p: clean + signs * p * 0.45  # noqa: E731
    monkeypatch.setattr(parameters, "estimates", errors)
    owner = SeededOwner.of("x", 1, 400)
    found = parameters.p_star(owner, codes, MINER, [0.02, 0.04], parameters.READINGS)
    assert found[0.02, "mean error"] == 0.05  # 0.0225 is the first above 0.02
    assert found[0.02, "mean p*"] == pytest.approx(0.05)
    assert found[0.02, "error"] == parameters.LAST  # errors of opposite signs cancel
    assert found[0.04, "mean error"] == 0.09


@pytest.mark.parametrize(
    ("one", "other", "z"),
    [([3, 3, 3], [1, 1, 1], math.inf), ([1, 1], [1, 1], 0.0), ([5, 6, 5, 6], [2] * 4, 12.124356)],
)
def test_a_difference_has_its_standard_error_over_the_runs(one, other, z: float):
    series = {"a": one, "b": other}
    rows = [(name, run, n, 0) for name in series for run, n in enumerate(series[name])]
    table = pd.DataFrame(rows, columns=["setup", "run", "extra", "missing"])
    assert structures.difference(table, "errors", "setup", "a", "b")[1] == pytest.approx(z)


# --- eleven nodes --------------------------------------------------------------------------------


def test_the_printed_table_has_every_parameter():
    printed = eleven_nodes.printed()
    assert len(printed) == 64
    assert (printed["deviation"] < 6).all()
    for node, rows in printed.groupby("node"):
        means, size = rows["mean"].to_numpy(), setups.DOMAIN[node].size
        assert np.allclose(means.reshape(size, -1).sum(axis=0), 1, atol=0.025)
        wanted = eleven_nodes.in_order(setups.network().tables[node])
        assert means == pytest.approx(wanted, abs=0.05)


def test_masivs_table_1_differs_from_mas_in_x_alone():
    ma, here = setups.plan(), eleven_nodes.plan(0.4)
    other = [b.names for a, b in zip(ma.blocks, here.blocks, strict=True) if a != b]
    assert other == [("X",)]
    assert here.block_of("X").channel.matrix()[0] == pytest.approx([0.6, 0.4])
    assert eleven_nodes.plan(0.2).digest == ma.digest
    assert eleven_nodes.plan(0.4, "X").block_of("X").channel.is_identity


def test_both_cases_see_the_same_randomized_records():
    """Perturb once: what a peer gets of C is what the miner gets."""
    codes = eleven_nodes.records(QUICK)
    owner = SeededOwner.of("test", 1, setups.RECORDS)
    learning = eleven_nodes.learners()
    plans = (learning[MINER][0].plan, learning[PEERS][0].plan)
    at_miner, at_clinic = (owner.report(plan, codes, 2) for plan in plans)
    assert (at_miner.table(["C", "G"]) == at_clinic.table(["C", "G"])).all()
    assert (at_miner.table(["A", "C"]) != at_clinic.table(["A", "C"])).any()


def test_parameters_without_a_miner_by_the_formulas_of_5_2_1():
    """Node X of the laboratory: its own column exact; E with p = 0.2, inverted by hand."""
    codes = eleven_nodes.records(QUICK)
    owner = SeededOwner.of("test", 1, setups.RECORDS)
    peers = eleven_nodes.learners()[PEERS]
    found = eleven_nodes.learn(owner, codes, peers, 0)
    start = sum(setups.network().tables[n].size for n in ("A", "T", "S", "L", "B", "E", "D"))
    table = owner.report(peers[1].plan, codes, 0).table(["E", "X"])
    counts = np.array([[0.8, -0.2], [-0.2, 0.8]]) / 0.6 @ table
    by_hand = (counts / counts.sum(axis=1, keepdims=True)).T.ravel()
    assert found[start : start + 4] == pytest.approx(by_hand, rel=1e-6)
    assert found[0] == pytest.approx((codes["A"] == 0).mean())
