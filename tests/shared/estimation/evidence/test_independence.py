"""Tests of independence in the reports: another optimizer, closed forms, chi-square, resampling."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize
from scipy.special import softmax, xlogy

from pramana_core.channels import Dense, Grouped, Identity, Symmetric, Transition, Withheld
from pramana_core.domain import Domain
from pramana_core.errors import LimitExceeded, OptionError, UnknownVariable
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.estimation.evidence import ConditionalIndependence
from pramana_core.plan import Block, Plan
from tests.lengths import repetitions
from tests.shared.estimation.recordwise import Table


def domain_of(*sizes: int) -> Domain:
    return Domain.of(
        **{name: map(str, range(size)) for name, size in zip("xgzw", sizes, strict=False)}
    )


def alone(domain: Domain, *channels: Transition) -> Plan:
    return Plan(tuple(Block((v,), c) for v, c in zip(domain, channels, strict=True)))


def blurred(plan: Plan, true: np.ndarray) -> np.ndarray:
    """The reports' distribution from the truth's, by one listed matrix for everything."""
    matrix = np.ones((1, 1))
    for block in plan.blocks:
        matrix = np.kron(matrix, block.channel.matrix())
    reported = [plan.reported_sizes[name] for name in plan.domain.names]
    return (matrix.T @ true.ravel()).reshape(reported)


def reports(plan: Plan, true: np.ndarray, records: int, seed: int) -> Table:
    seen = blurred(plan, true)
    drawn = np.random.default_rng(seed).multinomial(records, seen.ravel()).reshape(seen.shape)
    return Table(plan.domain.names, drawn)


def dependent(shape: Sequence[int], seed: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(math.prod(shape), 2.0)).reshape(shape)


def independent(shape: Sequence[int], seed: int) -> np.ndarray:
    """A distribution (X, G, Z) in which X and Z are independent given G."""
    rng = np.random.default_rng(seed)
    x, g, z = shape
    given = rng.dirichlet(np.full(g, 5.0))
    return np.einsum(
        "j,ji,jk->ijk",
        given,
        rng.dirichlet(np.full(x, 3.0), size=g),
        rng.dirichlet(np.full(z, 3.0), size=g),
    )


def optimized(loss, size: int, tries: int = 2) -> float:
    """The least loss that a quasi-Newton search finds from several starts."""
    rng = np.random.default_rng(0)
    scale = loss(np.zeros(size))
    options = {"ftol": 1e-14, "gtol": 1e-9, "maxfun": 50_000, "maxiter": 2000}
    runs = (
        minimize(
            lambda parameters: loss(parameters) / scale,
            rng.normal(size=size),
            method="L-BFGS-B",
            bounds=[(-25, 25)] * size,
            options=options,
        )
        for _ in range(tries)
    )
    return float(scale * min(run.fun for run in runs))


def least_and_most(plan: Plan, seen: np.ndarray) -> tuple[float, float]:
    """Both log-likelihoods over softmax parameters; the plan's domain is (X, G, Z)."""
    x, g, z = plan.domain.shape

    def loss(table: np.ndarray) -> float:
        return -float(xlogy(seen, blurred(plan, table)).sum())

    def apart(parameters: np.ndarray) -> float:
        of_g, of_x, of_z = np.split(parameters, [g, g + g * x])
        return loss(
            np.einsum(
                "j,ji,jk->ijk",
                softmax(of_g),
                softmax(of_x.reshape(g, x), axis=1),
                softmax(of_z.reshape(g, z), axis=1),
            )
        )

    def free(parameters: np.ndarray) -> float:
        return loss(softmax(parameters))

    return -optimized(apart, g + g * x + g * z), -optimized(free, x * g * z)


WIDE = Dense.from_probabilities([[0.6, 0.3, 0.1], [0.1, 0.2, 0.7]])
PLANS = {
    "dense": alone(domain_of(2, 2, 2), *[Dense.binary(0.1, 0.25)] * 3),
    "symmetric": alone(domain_of(2, 2, 2), *[Symmetric.from_probability(2, 0.2)] * 3),
    "identity": alone(domain_of(2, 2, 2), *[Identity(2)] * 3),
    "rectangular": alone(domain_of(2, 2, 2), WIDE, Dense.binary(0.2, 0.1), WIDE),
    "given-grouped": alone(
        domain_of(2, 3, 2),
        Symmetric.from_probability(2, 0.15),
        Grouped(((0, 2), (1,)), (Dense.binary(0.1, 0.3), None)),
        Dense.binary(0.1, 0.2),
    ),
    "given-symmetric": alone(
        domain_of(2, 3, 2), Identity(2), Symmetric.from_probability(3, 0.3), Dense.binary(0.1, 0.2)
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "seed"), [*((name, 1) for name in PLANS), ("dense", 2), ("given-grouped", 2)]
)
def test_likelihoods_equal_those_of_another_optimizer(name: str, seed: int):
    """Where X and Z are dependent, and where they are not."""
    plan = PLANS[name]
    made = dependent if seed == 1 else independent
    table = reports(plan, made(plan.domain.shape, seed), 8000, seed)
    evidence = EstimatedMarginals(table, plan).independence(["x"], ["z"], ["g"])
    least, most = least_and_most(plan, table.tensor)
    assert evidence.null_log_likelihood == pytest.approx(least, abs=0.01)
    assert evidence.alternative_log_likelihood == pytest.approx(most, abs=0.01)
    assert evidence.ratio == pytest.approx(most - least, abs=0.02)
    assert evidence.ratio <= evidence.upper + 1e-9
    assert evidence.alternative_log_likelihood <= evidence.saturated + 1e-9
    assert evidence.degrees_of_freedom == plan.domain.shape[1]
    assert_independent(evidence, left=1, right=2, given=0)


def assert_independent(
    evidence: ConditionalIndependence, *, left: int, right: int, given: int
) -> None:
    """The fitted table is a distribution whose every slice has rank one."""
    fitted = np.moveaxis(evidence.fitted, (given, left, right), (0, 1, 2))
    slices = fitted.reshape(*fitted.shape[:3], -1).sum(axis=-1)
    assert fitted.sum() == pytest.approx(1)
    for table in slices:
        assert np.linalg.svd(table, compute_uv=False)[1] < 1e-12


@pytest.mark.parametrize("shape", [(2, 2, 2), (3, 2, 4), (2, 5, 3)])
def test_on_clean_records_the_ratio_is_the_g_test(shape: tuple[int, int, int]):
    """N times the conditional mutual information, added up over the given categories."""
    plan = Plan.unrandomized(domain_of(*shape))
    table = reports(plan, dependent(shape, 3), 3000, 3)
    assert table.tensor.min() > 0
    evidence = EstimatedMarginals(table, plan).independence(["x"], ["z"], ["g"])
    tests = [
        stats.chi2_contingency(table.tensor[:, j], correction=False, lambda_="log-likelihood")
        for j in range(shape[1])
    ]
    assert 2 * evidence.ratio == pytest.approx(sum(test.statistic for test in tests), rel=1e-9)
    assert evidence.upper == pytest.approx(evidence.ratio, rel=1e-9)
    assert evidence.degrees_of_freedom == sum(test.dof for test in tests)
    assert evidence.inflation == pytest.approx(1, abs=1e-9)
    turned = EstimatedMarginals(table, plan).independence(["z"], ["x"], ["g"])
    assert turned.ratio == pytest.approx(evidence.ratio, rel=1e-9)


# Under independence -------------------------------------------------------------------------------

NOISY = alone(domain_of(2, 2, 2), *[Symmetric.from_probability(2, 0.3)] * 3)


def plain_gain(plan: Plan, seen: np.ndarray) -> np.ndarray:
    """Of reports (draws, x, g, z): twice N times the mutual information of estimated counts."""
    estimate = seen.astype(float)
    for axis, block in enumerate(plan.blocks):
        inverse = np.linalg.inv(block.channel.matrix()).T
        estimate = np.moveaxis(np.tensordot(inverse, estimate, axes=(1, axis + 1)), 0, axis + 1)
    table = np.maximum(estimate, 1e-300)
    x, z = table.sum(axis=3, keepdims=True), table.sum(axis=1, keepdims=True)
    both = table.sum(axis=(1, 3), keepdims=True)
    return 2 * (table * np.log(table * both / (x * z))).sum(axis=(1, 2, 3))


@pytest.mark.calibration
def test_under_independence_twice_the_ratio_is_chi_square(assert_distribution):
    """Of samples of independent records, all variables noisy; false alarm 1e-6.

    The plain gain of estimated counts, compared with the same distribution, must be rejected.
    """
    shape, samples = NOISY.domain.shape, repetitions(120, 400)
    seen = blurred(NOISY, independent(shape, 8)).ravel()
    rng = np.random.default_rng(9)
    drawn = rng.multinomial(500_000, seen, size=samples).reshape(samples, *shape)
    statistics = []
    for table in drawn:
        evidence = EstimatedMarginals(Table("xgz", table), NOISY).independence(["x"], ["z"], ["g"])
        statistics.append(2 * evidence.ratio)
    edges = stats.chi2.ppf(np.linspace(0, 1, 9), evidence.degrees_of_freedom)
    expected = np.full(8, samples / 8)
    assert_distribution(np.histogram(statistics, edges)[0], expected)
    with pytest.raises(AssertionError):
        assert_distribution(np.histogram(plain_gain(NOISY, drawn), edges)[0], expected)


@pytest.mark.parametrize("channel", [Withheld(2), Symmetric.from_probability(2, 0.5)])
def test_inflation_is_infinite_where_a_channel_has_no_inverse(channel: Transition):
    plan = alone(domain_of(2, 2, 2), Identity(2), channel, Identity(2))
    table = reports(plan, dependent((2, 2, 2), 13), 1000, 13)
    evidence = EstimatedMarginals(table, plan).independence(["x"], ["z"], ["g"])
    assert evidence.inflation == math.inf
    assert 0 <= evidence.ratio <= evidence.upper


# Resampling ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["symmetric", "given-grouped", "rectangular", "identity"])
def test_resampled_ratios_are_those_of_the_resampled_reports(name: str):
    plan = PLANS[name]
    table = reports(plan, dependent(plan.domain.shape, 15), 4000, 15)
    evidence = EstimatedMarginals(table, plan).independence(["x"], ["z"], ["g"])
    ratios = evidence.resampled(12, np.random.default_rng(16))
    rng = np.random.default_rng(16)
    share = table.tensor
    drawn = rng.multinomial(4000, share.ravel() / 4000, size=12).reshape(12, *share.shape)
    for ratio, seen in zip(ratios, drawn, strict=True):
        fresh = EstimatedMarginals(Table("xgz", seen), plan).independence(["x"], ["z"], ["g"])
        assert ratio == pytest.approx(fresh.ratio, abs=0.05)
    assert ratios.shape == (12,)
    assert ratios.std() > 1


# What is asked ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right", "given"),
    [([], ["x"], []), (["x"], [], ["g"]), (["x"], ["x"], []), (["x"], ["z"], ["z"])],
)
def test_what_is_no_question_is_refused(left: list[str], right: list[str], given: list[str]):
    plan = PLANS["dense"]
    marginals = EstimatedMarginals(Table("xgz", np.ones((2, 2, 2))), plan)
    with pytest.raises(OptionError):
        marginals.independence(left, right, given)


def test_unknown_variables_and_large_tables_are_refused(monkeypatch: pytest.MonkeyPatch):
    plan = PLANS["dense"]
    sources = [(Table("xgz", np.ones((2, 2, 2))), plan)]
    for marginals in (EstimatedMarginals(*sources[0]), EstimatedMarginals.of(sources)):
        with pytest.raises(UnknownVariable):
            marginals.independence(["x"], ["q"], [])
    monkeypatch.setattr("pramana_core.estimation.evidence.TEST_CELLS", 7)
    with pytest.raises(LimitExceeded):
        EstimatedMarginals(*sources[0]).independence(["x"], ["z"], ["g"])
