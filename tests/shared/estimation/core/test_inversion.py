"""Estimators: exact on expected counts, enumerated on tiny ones, optimal where constrained."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from shared.channels import Dense, Identity, Symmetric, Transition
from shared.errors import EstimationError, NotConverged, OptionError, SingularChannel
from shared.estimation.core.inversion import Stratum, climb, maximum_likelihood, moment

RECTANGULAR = Dense.from_probabilities([[0.5, 0.3, 0.1, 0.1], [0.1, 0.2, 0.3, 0.4]])


def expected_stratum(true: np.ndarray, channels: tuple[Transition, ...]) -> Stratum:
    reported = true
    for axis, channel in enumerate(channels):
        reported = np.moveaxis(np.tensordot(channel.matrix().T, reported, (1, axis)), 0, axis)
    return Stratum(reported, channels)


def test_expected_counts_return_the_truth(channel: Transition):
    channels = (channel, Dense.binary(0.1, 0.25), Identity(2))
    true = np.random.default_rng(3).integers(1, 1000, [c.shape[0] for c in channels]).astype(float)
    stratum = expected_stratum(true, channels)
    np.testing.assert_allclose(moment([stratum]), true, rtol=1e-10)
    fitted = maximum_likelihood([stratum])
    np.testing.assert_allclose(fitted.probabilities * true.sum(), true, rtol=1e-8)
    assert fitted.gap <= 1e-4


def test_axis_wise_equals_the_dense_kronecker_product(families):
    channels = (families["binary"], families["dense"], families["grouped"])
    reported = np.random.default_rng(4).integers(0, 50, (2, 3, 5)).astype(float)
    whole = np.kron(np.kron(*(c.matrix() for c in channels[:2])), channels[2].matrix())
    np.testing.assert_allclose(
        moment([Stratum(reported, channels)]).ravel(),
        np.linalg.solve(whole.T, reported.ravel()),
        rtol=1e-9,
        atol=1e-9,
    )


def all_reports(truths: list[tuple[int, ...]], channels: tuple[Transition, ...]):
    """Every possible table of reports of some records, with its probability."""
    shape = tuple(c.shape[1] for c in channels)
    matrices = [c.matrix() for c in channels]
    for reports in itertools.product(np.ndindex(*shape), repeat=len(truths)):
        probability = 1.0
        table = np.zeros(shape)
        for truth, report in zip(truths, reports, strict=True):
            for matrix, t, r in zip(matrices, truth, report, strict=True):
                probability *= matrix[t, r]
            table[report] += 1
        if probability > 0:
            yield table, probability


@pytest.mark.parametrize(
    "channels",
    [
        (Symmetric.from_probability(2, 0.25), Dense.binary(0.1, 0.25)),
        (Dense.ternary(0.1, 0.25), Identity(2)),
        (Symmetric.from_probability(3, 0.9),),
    ],
)
def test_the_moment_estimate_is_unbiased_over_all_reports(channels: tuple[Transition, ...]):
    shape = tuple(c.shape[0] for c in channels)
    truths = [tuple(0 for _ in shape), tuple(s - 1 for s in shape), tuple(0 for _ in shape)]
    true = np.zeros(shape)
    for truth in truths:
        true[truth] += 1
    mean, total = np.zeros(shape), 0.0
    for table, probability in all_reports(truths, channels):
        mean += probability * moment([Stratum(table, channels)])
        total += probability
    assert total == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(mean, true, atol=1e-12)


def test_strata_with_different_channels_add_up():
    true = np.array([[30.0, 10.0], [5.0, 55.0]])
    first = (Symmetric.from_probability(2, 0.1), Identity(2))
    second = (Dense.binary(0.3, 0.2), Symmetric.from_probability(2, 0.4))
    strata = [expected_stratum(true, first), expected_stratum(2 * true, second)]
    np.testing.assert_allclose(moment(strata), 3 * true, rtol=1e-10)
    joint = maximum_likelihood(strata, tolerance=1e-10)
    np.testing.assert_allclose(joint.probabilities, true / 100, atol=1e-6)


def best_by_general_optimizer(stratum: Stratum) -> float:
    matrix = np.ones((1, 1))
    for channel in stratum.channels:
        matrix = np.kron(matrix, channel.matrix())
    counts = stratum.reported.ravel()

    def negative(raw: np.ndarray) -> float:
        theta = np.exp(raw - raw.max())
        return -float(counts @ np.log(matrix.T @ (theta / theta.sum())))

    starts = np.random.default_rng(0).normal(size=(8, len(matrix)))
    return max(-minimize(negative, s, options={"maxiter": 4000}).fun for s in starts)


@pytest.mark.parametrize(
    ("reported", "channels"),
    [
        (np.array([[5.0, 60.0], [40.0, 2.0]]), (Symmetric.from_probability(2, 0.3),) * 2),
        (np.array([3.0, 90.0, 4.0]), (Symmetric.from_probability(3, 0.5),)),
        (np.array([50.0, 20.0, 10.0, 40.0]), (RECTANGULAR,)),
        (np.array([0.0, 20.0, 0.0, 1.0]), (RECTANGULAR,)),
    ],
)
def test_likelihood_reaches_the_optimum_at_the_edge(reported, channels):
    stratum = Stratum(reported, channels)
    fitted = maximum_likelihood([stratum])
    best = best_by_general_optimizer(stratum)
    assert fitted.log_likelihood >= best - 2e-4
    assert best >= fitted.log_likelihood - 1e-4
    assert fitted.gap <= 1e-4
    assert fitted.probabilities.min() >= 0
    assert fitted.probabilities.sum() == pytest.approx(1, abs=1e-12)


def test_likelihood_equals_moments_inside_the_simplex():
    """Ma 2.4.2 (b): both estimates are equal when both are interior."""
    stratum = Stratum(np.array([[500.0, 300.0], [250.0, 400.0]]), (Dense.binary(0.1, 0.2),) * 2)
    from_uniform = maximum_likelihood([stratum], start=np.full((2, 2), 0.25), tolerance=1e-9)
    np.testing.assert_allclose(from_uniform.probabilities * 1450, moment([stratum]), rtol=1e-5)
    assert from_uniform.steps > 0
    assert maximum_likelihood([stratum]).steps == 0


def test_what_cannot_be_estimated_is_refused():
    channel = Symmetric.from_probability(2, 0.5)
    with pytest.raises(SingularChannel):
        moment([Stratum(np.ones(2), (channel,))])
    assert maximum_likelihood([Stratum(np.ones(2), (channel,))]).gap <= 1e-4
    with pytest.raises(EstimationError, match="no reported counts"):
        moment([])
    with pytest.raises(EstimationError, match="no records"):
        maximum_likelihood([Stratum(np.zeros(2), (Identity(2),))])
    with pytest.raises(OptionError, match="do not fit"):
        Stratum(np.zeros(3), (Identity(2),))
    never = Dense.from_probabilities([[0.5, 0.5, 0], [0.25, 0.75, 0]])
    with pytest.raises(EstimationError, match="probability zero under every true category"):
        maximum_likelihood([Stratum(np.array([1.0, 1.0, 1.0]), (never,))])
    hard = Stratum(np.array([3.0, 90.0, 4.0]), (Symmetric.from_probability(3, 0.5),))
    with pytest.raises(NotConverged, match="stopped after 3 steps"):
        maximum_likelihood([hard], tolerance=0.0, max_steps=1)


def heavy_noise(shape: tuple[int, ...], p: float, records: int) -> Stratum:
    """Reports of a distribution with many empty cells: the maximum lies at the edge."""
    rng = np.random.default_rng(1)
    theta = rng.dirichlet(np.full(int(np.prod(shape)), 0.3)).reshape(shape)
    channels = tuple(Symmetric.from_probability(size, p) for size in shape)
    law = expected_stratum(theta, channels).reported
    reports = rng.multinomial(records, law.ravel() / law.sum()).reshape(shape)
    return Stratum(reports.astype(float), channels)


@pytest.mark.parametrize(
    ("shape", "p", "records"), [((5, 5), 0.75, 32_000), ((2,) * 5, 0.38, 20_000)]
)
def test_newton_steps_finish_where_em_crawls(shape, p, records, monkeypatch: pytest.MonkeyPatch):
    stratum = heavy_noise(shape, p, records)
    finished = maximum_likelihood([stratum])
    assert finished.gap <= 1e-4
    assert finished.probabilities.sum() == pytest.approx(1, abs=1e-12)
    assert finished.probabilities.min() >= 0
    monkeypatch.setattr("shared.estimation.core.inversion.NEWTON_ENTRIES", 0)
    crawled = maximum_likelihood([stratum])
    assert crawled.steps > finished.steps
    assert abs(crawled.log_likelihood - finished.log_likelihood) <= 1e-4
    np.testing.assert_allclose(finished.probabilities, crawled.probabilities, atol=2e-4)


def test_newton_steps_serve_strata_and_rectangular_channels(monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(2)
    strata = [
        Stratum(rng.integers(1, 60, (4, 2)).astype(float), (RECTANGULAR, Symmetric(2, 1 << 30))),
        Stratum(rng.integers(1, 60, (2, 2)).astype(float), (Identity(2), Dense.binary(0.4, 0.3))),
    ]
    crawled = maximum_likelihood(strata)
    monkeypatch.setattr("shared.estimation.core.inversion._PATIENCE", 0)
    finished = maximum_likelihood(strata)
    assert finished.gap <= 1e-4
    np.testing.assert_allclose(finished.probabilities, crawled.probabilities, atol=1e-3)
    monkeypatch.setattr("shared.estimation.core.inversion._NEWTON_STEPS", 1)
    with pytest.raises(NotConverged, match="Newton steps stopped"):
        maximum_likelihood(strata)


def test_climbing_stops_at_each_of_its_ends():
    stratum = heavy_noise((4, 4), 0.6, 2_000)
    best = maximum_likelihood([stratum])
    short = climb([stratum], tolerance=1e-4, steps=3)
    assert short.steps == 3
    assert best.log_likelihood - short.log_likelihood <= short.gap
    halfway = (short.log_likelihood + best.log_likelihood) / 2
    enough = climb([stratum], tolerance=1e-4, steps=10_000, enough=halfway)
    assert enough.log_likelihood >= halfway
    assert 3 < enough.steps < climb([stratum], tolerance=1e-2, steps=10_000).steps
