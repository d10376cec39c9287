"""The noise on shared counts: its distribution, variance and loss, and intervals that know it."""

import builtins
import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import binom

from owner_agent.peer.noise import NoiseMechanism, mechanism_for
from owner_agent.site.mistakes import GaussianNoise, LaplaceNoise
from pramana_core.channels import Dense
from pramana_core.domain import Domain
from pramana_core.errors import NotInstalled
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.networks.bayes_net import learn_parameters
from pramana_core.learn.networks.structure import Structure
from pramana_core.marginals.passes import NoisyCounts, NoisyTable
from pramana_core.plan import Block, Plan

KINDS = ["laplace", "gaussian"]


def pmf(mechanism):
    """The values the noise may have, as far as they matter, and their probabilities."""
    reach = math.ceil(60 * mechanism.scale) + 2
    values = np.arange(-reach, reach + 1)
    scaled = values / mechanism.scale
    weights = np.exp(-np.abs(scaled) if mechanism.kind == "laplace" else -np.square(scaled) / 2)
    return values, weights / weights.sum()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [0.3, 1.0, 4.0, 37.5])
def test_the_variance_is_that_of_the_distribution(kind, scale):
    """Enumerated from the probabilities of all values."""
    mechanism = NoiseMechanism(kind, scale)
    values, weights = pmf(mechanism)
    assert values @ weights == pytest.approx(0, abs=1e-12)
    assert np.square(values) @ weights == pytest.approx(mechanism.variance, rel=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [0.8, 4.0])
def test_the_library_draws_from_that_distribution(kind, scale, assert_distribution):
    """By its own random numbers, which nobody can seed: false alarms once in a million runs."""
    mechanism = NoiseMechanism(kind, scale)
    values, weights = pmf(mechanism)
    drawn = mechanism.draw(20_000)
    keep = weights * 20_000 > 10
    low, high = values[keep].min(), values[keep].max()
    counts = np.bincount(np.clip(drawn, low, high) - low, minlength=high - low + 1)

    def expected(weights):
        inside = weights[keep].copy()
        inside[0] += weights[values < low].sum()
        inside[-1] += weights[values > high].sum()
        return inside * 20_000

    assert_distribution(counts, expected(weights), false_alarm=1e-6)
    other = "gaussian" if kind == "laplace" else "laplace"
    with pytest.raises(AssertionError):
        assert_distribution(
            counts, expected(pmf(NoiseMechanism(other, scale))[1]), false_alarm=1e-6
        )


@pytest.mark.parametrize("tables", [1, 3, 8])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 3.0])
def test_a_session_of_laplace_noise_is_as_private_as_demanded(tables, epsilon):
    """A record that moves changes two counts of each table by one: the odds, counted out."""
    mechanism = mechanism_for(
        LaplaceNoise(kind="laplace", epsilon=epsilon, max_epsilon=9.0), tables
    )
    loss = 2 * tables / mechanism.scale
    assert epsilon * (1 - 1e-9) < loss <= epsilon
    # One count's odds under counts n and n + 1, over all that may be told.
    values = np.arange(-300, 301)
    odds = np.abs(np.abs(values) - np.abs(values - 1)) / mechanism.scale
    assert 2 * tables * odds.max() <= epsilon


@pytest.mark.slow
@pytest.mark.parametrize("tables", [1, 4])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-6), (2.0, 1e-9)])
def test_a_session_of_gaussian_noise_is_as_private_as_demanded(tables, epsilon, delta):
    """By the formula of Canonne, Kamath and Steinke (2020, proposition 12), minimized here."""
    demand = GaussianNoise(kind="gaussian", epsilon=epsilon, max_epsilon=9.0, delta=delta)
    mechanism = mechanism_for(demand, tables)

    def delta_of(scale):
        rho = tables / scale**2

        def logarithm(power):
            a = 1 + math.exp(power)
            return (a - 1) * (a * rho - epsilon) + a * math.log1p(-1 / a) - math.log(a - 1)

        return math.exp(minimize_scalar(logarithm, bounds=(-8, 12), method="bounded").fun)

    assert delta_of(mechanism.scale) <= delta * (1 + 1e-6)
    assert delta_of(mechanism.scale * 0.999) > delta


def test_a_gaussian_told_once_is_within_its_delta():
    """Enumerated: all pairs of two counts that may be told of a record here or there."""
    epsilon, delta = 1.0, 1e-3
    mechanism = mechanism_for(
        GaussianNoise(kind="gaussian", epsilon=epsilon, max_epsilon=9.0, delta=delta), 1
    )
    _, weights = pmf(mechanism)
    here = np.multiply.outer(weights, weights)
    there = np.multiply.outer(np.roll(weights, 1), np.roll(weights, -1))
    exceeds = np.maximum(here - math.exp(epsilon) * there, 0).sum()
    assert 0 < exceeds <= delta
    # The control: with 0.6 of the noise it would not be.
    _values, weights = pmf(NoiseMechanism("gaussian", mechanism.scale * 0.6))
    here = np.multiply.outer(weights, weights)
    there = np.multiply.outer(np.roll(weights, 1), np.roll(weights, -1))
    assert np.maximum(here - math.exp(epsilon) * there, 0).sum() > delta


@pytest.mark.slow
def test_figures_of_the_page():
    """docs/peers.md says by how many records a count is off."""
    laplace = LaplaceNoise(kind="laplace", epsilon=0.5, max_epsilon=9.0)
    gaussian = GaussianNoise(kind="gaussian", epsilon=0.5, max_epsilon=9.0, delta=1e-6)
    for tables in range(1, 9):
        flat = math.sqrt(mechanism_for(laplace, tables).variance)
        bell = math.sqrt(mechanism_for(gaussian, tables).variance)
        assert flat == pytest.approx(2.83 * tables / 0.5, rel=0.01)
        assert bell == pytest.approx(12.3 * math.sqrt(tables), rel=0.005)
        assert (bell < flat) == (tables >= 5)
    assert math.sqrt(mechanism_for(laplace, 1).variance) == pytest.approx(5.6, abs=0.05)


def test_without_the_library_it_says_which_extra_to_install(monkeypatch):
    real = builtins.__import__

    def missing(name, *rest):
        if name.startswith("opendp"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(NotInstalled, match=r"pramana\[noise\]"):
        NoiseMechanism("laplace", 1.0).draw(3)


RECORDS, REPETITIONS = 2000, 400
DOMAIN = Domain.of(z=["1", "2"], a=["1", "2"], x=["1", "2"])
PLAN = Plan(
    (
        Block((DOMAIN["z"],), Dense.binary(0.1, 0.2)),
        *Plan.unrandomized(DOMAIN.project(["a", "x"])).blocks,
    )
)
TRUE = np.array([[[0.14, 0.06], [0.1, 0.1]], [[0.12, 0.18], [0.06, 0.24]]])
"""The population: Z is the peer's, A and X are the owner's."""


def inside(mechanism, variance, seed):
    """How many intervals of X given Z and A hold the population's value, and the records'."""
    rng = np.random.default_rng(seed)
    values, weights = pmf(mechanism)
    held = np.zeros(2, dtype=int)
    for _ in range(REPETITIONS):
        true = rng.multinomial(RECORDS, TRUE.ravel()).reshape(TRUE.shape)
        matrix = PLAN.blocks[0].channel.matrix()
        reports = np.zeros((2, 2, 2), dtype=np.int64)
        for cell in np.ndindex(2, 2, 2):
            reports[:, cell[1], cell[2]] += rng.multinomial(true[cell], matrix[cell[0]])
        noise = rng.choice(values, p=weights, size=reports.shape)
        counts = NoisyCounts({("z", "a", "x"): NoisyTable(reports + noise, variance)}, RECORDS)
        learned = learn_parameters(
            EstimatedMarginals(counts, PLAN), Structure.of({"z": [], "a": [], "x": ["z", "a"]})
        )
        (family,) = [f for f in learned.families if f.node == "x"]
        cell = (0, 1, 0)
        wanted = TRUE[cell] / TRUE[0, 1].sum()
        held[0] += family.low[cell] <= wanted <= family.high[cell]
        of_records = true[cell] / true[0, 1].sum()
        held[1] += abs(family.estimate[cell] - of_records) <= 1.959964 * family.se_records[cell]
    return held


@pytest.mark.calibration
@pytest.mark.parametrize("kind", KINDS)
def test_intervals_hold_the_truth_at_their_rate(kind):
    """95 % of 400 against the population and against the records; false alarm 1e-6 each.

    The errors of the records are a normal approximation: 94 to 96 % are taken for 95 %. Without the
    noise's variance far fewer hold, which is the control.
    """
    mechanism = NoiseMechanism(kind, 20.0)
    low = binom.ppf(5e-7, REPETITIONS, 0.94)
    high = binom.ppf(1 - 5e-7, REPETITIONS, 0.96)
    held = inside(mechanism, mechanism.variance, seed=17)
    assert ((low <= held) & (held <= high)).all(), held
    assert (inside(mechanism, 0.0, seed=17) < low).all()
