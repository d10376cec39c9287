"""Profile-likelihood intervals against a general optimizer, a textbook case and their own rate."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize, stats

from pramana_core.channels import Identity, StructuralZeros, Symmetric
from pramana_core.estimation import profile as profiles
from pramana_core.estimation.axes import Stratum
from pramana_core.estimation.loglinear import MAIN_VARIANCE, design, fit
from pramana_core.estimation.profile import Profile
from tests.shared.estimation.core.strata_cases import drawn

SHAPE = (2, 2, 2)
CHANGED = Symmetric.from_gamma(2, 3.0)
"""Each value is changed with probability 1/4."""

THETA = np.array([0.3, 0.05, 0.1, 0.05, 0.02, 0.08, 0.1, 0.3]).reshape(SHAPE)


def reports(records: int, seed: int, theta: np.ndarray = THETA) -> Stratum:
    return drawn(theta, (CHANGED,) * theta.ndim, records, seed)


def profile_of(stratum: Stratum, shape: tuple[int, ...] = SHAPE, **options) -> Profile:
    found = fit([stratum], shape, **options)
    return Profile(found.weak, found.values)


def by_optimizer(profile: Profile, part: np.ndarray, whole: np.ndarray, z: float) -> list[float]:
    """Both ends by sequential quadratic programming from several starts, written out afresh."""
    (stratum,) = profile.model.strata
    listed, seen = stratum.listed(), stratum.column[:, 0]

    def theta(values: np.ndarray) -> np.ndarray:
        height = profile.model.matrix @ values
        raised = np.exp(height - height.max())
        return np.maximum(raised / raised.sum(), 1e-300)

    def likelihood(values: np.ndarray) -> float:
        penalty = 0.5 * float(profile.model.precision @ values**2)
        return float(seen @ np.log(listed @ theta(values))) - penalty

    def odds(values: np.ndarray) -> float:
        made = theta(values)
        return math.log(part @ made) - math.log((whole - part) @ made)

    size = profile.model.matrix.shape[1]
    best = optimize.minimize(lambda v: -likelihood(v), np.zeros(size), method="BFGS")
    bound = -best.fun - z**2 / 2
    found = []
    for sign in (-1.0, 1.0):
        ends = []
        for seed in range(2):
            start = best.x + 0.2 * np.random.default_rng(seed).normal(size=size)
            made = optimize.minimize(
                lambda v, sign=sign: -sign * odds(v),
                start,
                method="SLSQP",
                constraints={"type": "ineq", "fun": lambda v: likelihood(v) - bound},
                options={"maxiter": 500},
            )
            if made.success:
                ends.append(sign * -made.fun)
        found.append(sign * max(sign * end for end in ends))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("records", [200, pytest.param(2000, marks=pytest.mark.campaign)])
def test_the_ends_are_those_a_general_optimizer_finds(records: int):
    profile = profile_of(reports(records, 3))
    cells = np.eye(8)
    given = np.kron(np.eye(2), np.ones((4, 4)))  # the first variable's value is given
    parts = np.vstack([cells, cells])
    wholes = np.vstack([np.ones((8, 8)), given])
    low, high = profile.limits(parts, wholes, 1.96)
    # Every second cell, of all and given the first variable.
    for place in range(0, 16, 2):
        wanted = by_optimizer(profile, parts[place], wholes[place], 1.96)
        got = [math.log(w / (1 - w)) for w in (low[place], high[place])]
        # Ends are looked for up to a hundredth of the interval's half.
        slack = 0.02 * (wanted[1] - wanted[0])
        assert got[0] == pytest.approx(wanted[0], abs=slack) or low[place] < 1e-3
        assert got[1] == pytest.approx(wanted[1], abs=slack)


@pytest.mark.parametrize(("hits", "records"), [(3, 50), (0, 30), (120, 200)])
def test_without_randomization_it_is_the_likelihood_interval_of_a_share(hits: int, records: int):
    stratum = Stratum(np.array([hits, records - hits], dtype=float), (Identity(2),))
    low, high = profile_of(stratum, (2,), order=1).limits(
        np.array([[1.0, 0.0]]), np.ones((1, 2)), 1.96
    )

    def below(share: float) -> float:
        # The weak prior of the log odds' half is part of the likelihood.
        def likelihood(w: float) -> float:
            prior = (0.5 * math.log(w / (1 - w))) ** 2 / (2 * MAIN_VARIANCE)
            return hits * math.log(w) + (records - hits) * math.log1p(-w) - prior

        top = optimize.minimize_scalar(
            lambda w: -likelihood(w), bounds=(1e-9, 1 - 1e-9), method="bounded"
        )
        return -top.fun - likelihood(share) - 1.96**2 / 2

    share = max(hits / records, 1e-6)
    assert high[0] == pytest.approx(optimize.brentq(below, share, 1 - 1e-9), rel=0.02)
    if hits:
        assert low[0] == pytest.approx(optimize.brentq(below, 1e-9, share), rel=0.02)
    else:
        assert low[0] < 1e-6


def test_a_cell_that_cannot_occur_and_one_that_must():
    channel = StructuralZeros(4, (3,), Symmetric.from_gamma(3, 7.0))
    theta = np.array([[0.5, 0.3], [0.2, 0.0]])
    stratum = Stratum(1000 * channel.apply(theta.ravel(), 0), (channel,))
    profile = profile_of(stratum, (2, 2), possible=theta > 0)
    cells = np.eye(4)
    low, high = profile.limits(cells, np.array([[1, 1, 1, 1]] * 3 + [[0, 0, 1, 1]]), 1.96)
    assert np.all((low[:3] < theta.ravel()[:3]) & (theta.ravel()[:3] < high[:3]))
    assert (low[3], high[3]) == (0.0, 0.0), "nothing but an impossible cell in the numerator"
    impossible = np.array([[0.0, 0.0, 0.0, 1.0]])
    (low,), (high,) = profile.limits(cells[2:3], impossible + cells[2], 1.96)
    assert (low, high) == (1.0, 1.0), "nothing but an impossible cell beside it"
    (low,), (high,) = profile.limits(impossible, impossible, 1.96)
    assert (low, high) == (0.0, 1.0), "the whole itself cannot occur"


def test_above_its_cost_the_log_odds_have_symmetric_errors(monkeypatch):
    profile = profile_of(reports(100_000, 5))
    exact = profile.limits(np.eye(8), np.ones((8, 8)), 1.96)
    monkeypatch.setattr(profiles, "PROFILE_COST", 0)
    rough = profile.limits(np.eye(8), np.ones((8, 8)), 1.96)
    for one, other in zip(exact, rough, strict=True):
        np.testing.assert_allclose(one, other, rtol=0.1)
    odds = [np.log(end / (1 - end)) for end in rough]
    best = profile.best.theta[0]
    np.testing.assert_allclose(sum(odds) / 2, np.log(best / (1 - best)), rtol=1e-6)


@pytest.mark.campaign
@pytest.mark.parametrize("records", [200, 1000])
def test_cells_are_covered_at_their_rate_where_carried_errors_fail(records: int):
    """150 repetitions, 95 % intervals: on average not below 93.5 %; false alarm 1e-6.

    The control carries the information at the highest likelihood over to the cells. In short the
    setting of such cells in `tests/coverage` shows the rate.
    """
    shape = (2, 2, 2, 2)
    effects = design(shape, 2).matrix
    height = effects @ np.random.default_rng(4).normal(size=effects.shape[1]) * 0.4
    truth = np.exp(height) / np.exp(height).sum()
    profiled, carried = [], []
    for seed in range(150):
        profile = profile_of(reports(records, 100 + seed, truth.reshape(shape)), shape)
        low, high = profile.limits(np.eye(16), np.ones((16, 16)), 1.96)
        profiled.append(np.mean((low <= truth) & (truth <= high)))
        slopes = profile.model.slopes(profile.best)
        cells = slopes.cells[0]
        error = np.sqrt(np.diag(cells @ np.linalg.inv(slopes.information[0]) @ cells.T))
        carried.append(np.mean(np.abs(profile.best.theta[0] - truth) <= 1.96 * error))

    def enough(covered: list[float]) -> bool:
        spread = np.std(covered, ddof=1) / math.sqrt(len(covered))
        return bool((0.935 - np.mean(covered)) / spread < stats.norm.isf(1e-6))

    assert enough(profiled), np.mean(profiled)
    if records == 200:
        assert not enough(carried), np.mean(carried)
