"""Privacy measures against brute force over the matrix, and the closed forms of the papers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from pramana_core.channels import (
    Dense,
    Grouped,
    Identity,
    Mixture,
    OneHot,
    Symmetric,
    Transition,
    Withheld,
)
from pramana_core.domain import Domain
from pramana_core.errors import OptionError
from pramana_core.plan import Block
from pramana_core.privacy import (
    NOTHING,
    Amplification,
    composed,
    gamma,
    gamma_for_breach,
    gamma_within_groups,
    largest_proportion_se,
)


def test_groups_are_no_secret():
    grouped = Grouped.from_probability([[0, 1, 2], [3, 4, 5]], 0.3)
    assert gamma(grouped) == math.inf
    assert gamma_within_groups(grouped) == pytest.approx(2 * 0.7 / 0.3, rel=1e-8)
    assert gamma_within_groups(Symmetric.from_probability(2, 0.25)) == pytest.approx(3)
    assert gamma_within_groups(Grouped.from_probability([[0], [1, 2]], 0.5)) == pytest.approx(1)


@pytest.mark.parametrize(("items", "p"), [(2, 0.1), (2, 0.3), (3, 0.1), (3, 0.3)])
def test_items_randomized_together_have_the_smaller_gamma(items: int, p: float):
    """Ma 7.1.3: gamma_s against (gamma_ind)^|G|, by the closed forms printed there."""
    together = Symmetric.from_probability(2**items, p)
    gamma_s = (1 - p) / p * (2**items - 1)
    assert Amplification.together([together]).gamma == pytest.approx(gamma_s, rel=1e-7)
    one = together.restrict([2] * items, [True] + [False] * (items - 1))
    assert one is not None
    moved = {2: 2 / 3 * p, 3: 4 / 7 * p}[items]
    apart = ((1 - moved) / moved) ** items
    assert Amplification.together([one] * items).gamma == pytest.approx(apart, rel=1e-7)
    assert gamma_s < apart


def test_gamma_of_blocks_together_is_that_of_the_whole_matrix():
    """By the Kronecker product, with a joint block, a withheld variable and two bare channels."""
    a, b = Domain.of(a="xy", b="123").variables
    joint = Block((a, b), Symmetric.from_gamma(6, 4.0))
    parts = [Dense.binary(0.1, 0.25), joint, Withheld(3), Dense.ternary(0.1, 0.25)]
    whole = np.ones((1, 1))
    for part in parts:
        whole = np.kron(whole, (part.channel if isinstance(part, Block) else part).matrix())
    expected = (whole.max(axis=0) / whole.min(axis=0)).max()
    assert Amplification.together(parts).gamma == pytest.approx(expected, rel=1e-12)
    assert Amplification.together([]).gamma == 1
    assert Amplification.together([Identity(2), joint]).gamma == math.inf


@pytest.mark.parametrize("prior", [0.01, 0.05, 0.5])
def test_no_prior_makes_a_larger_posterior_than_the_bound(channel: Transition, prior: float):
    """Maximize the posterior of each truth over priors that give it at most `prior`."""
    bound = Amplification.of(channel).grown(prior)
    matrix, worst = channel.matrix(), 0.0
    for truth in range(len(matrix)):
        for other in set(range(len(matrix))) - {truth}:
            belief = np.zeros(len(matrix))
            belief[truth], belief[other] = prior, 1 - prior
            joint = belief[:, None] * matrix
            with np.errstate(invalid="ignore"):
                worst = max(worst, float(np.nanmax(joint[truth] / joint.sum(axis=0))))
    assert worst == pytest.approx(bound, rel=1e-9)


@pytest.mark.parametrize("amplification", [1.0, 3.0, 19.0, 1e6])
@pytest.mark.parametrize("rho_2", [0.1, 0.5, 0.95])
def test_the_bounds_undo_each_other(amplification: float, rho_2: float):
    rho_1 = Amplification.of_gamma(amplification).fallen(rho_2)
    assert Amplification.of_gamma(amplification).grown(rho_1) == pytest.approx(rho_2, rel=1e-9)
    # A belief falls as far as its opposite can grow.
    fallen = 1 - Amplification.of_gamma(amplification).grown(1 - rho_2)
    assert Amplification.of_gamma(amplification).fallen(rho_2) == pytest.approx(fallen, abs=1e-12)
    if amplification > 1:
        assert gamma_for_breach(rho_1, rho_2) == pytest.approx(amplification, rel=1e-9)


def test_frapps_setting_and_the_limits():
    assert gamma_for_breach(0.05, 0.5) == pytest.approx(19)
    assert Amplification.of_gamma(math.inf).fallen(0.5) == 0
    assert Amplification.of_gamma(math.inf).fallen(0.5) == 0
    assert Amplification.of_gamma(1.0).fallen(0.3) == pytest.approx(0.3)


@pytest.mark.parametrize(("amplification", "prior"), [(0.5, 0.1), (3, 0), (3, 1), (math.nan, 0.1)])
@pytest.mark.parametrize("bound", [Amplification.grown, Amplification.fallen])
def test_impossible_bounds_are_refused(bound, amplification: float, prior: float):
    with pytest.raises(OptionError):
        bound(Amplification.of_gamma(amplification), prior)


def test_epsilons_of_independent_draws_add_and_gamma_may_be_beyond_all_numbers():
    three, half = Amplification.of_gamma(3.0), Amplification(0.5)
    assert (three + half).gamma == pytest.approx(3 * math.exp(0.5), rel=1e-12)
    assert composed([three, half, half]) == three + half + half
    assert composed([]) == NOTHING
    assert three.gamma == 3  # not 3.0000000000000004
    huge = Amplification(800.0)
    assert (huge.gamma, huge.written_gamma, huge.grown(0.05)) == (math.inf, ">1e308", 1)
    assert Amplification(math.inf).written_gamma == "∞"
    assert Amplification.of_gamma(19).told == "gamma 19, epsilon 2.945"
    assert Amplification(math.inf).told == "gamma ∞, epsilon ∞"
    assert max(three, half) is three


@pytest.mark.parametrize(
    ("rho_1", "rho_2"), [(0, 0.5), (0.5, 0.5), (0.5, 0.1), (0.5, 1), (math.nan, 0.5)]
)
def test_breaches_that_are_none_are_refused(rho_1: float, rho_2: float):
    with pytest.raises(OptionError):
        gamma_for_breach(rho_1, rho_2)


def largest_se_numerically(block: Block, name: str, records: int) -> float:
    """Maximize the enumerated variance over the simplex of truths, from many starts."""
    axis = block.names.index(name)
    shape = [v.size for v in block.variables]
    matrix, inverse = block.channel.matrix(), np.linalg.inv(block.channel.matrix())
    codes = np.unravel_index(np.arange(len(matrix)), shape)[axis]
    worst = 0.0
    rng = np.random.default_rng(0)
    for category in range(shape[axis]):
        decoder = inverse[:, codes == category].sum(axis=1)

        def negative(raw: np.ndarray, decoder: np.ndarray = decoder) -> float:
            theta = np.exp(raw - raw.max())
            reported = matrix.T @ (theta / theta.sum())
            return -float(reported @ decoder**2 - (reported @ decoder) ** 2)

        for _ in range(6):
            found = minimize(negative, rng.normal(size=len(matrix)) * 2, method="L-BFGS-B")
            worst = max(worst, -found.fun)
    return math.sqrt(worst / records)


def test_the_worst_standard_error_is_the_maximum(channel: Transition):
    variables = Domain.of(v=[str(i) for i in range(channel.shape[0])]).variables
    block = Block(variables, channel)
    expected = largest_se_numerically(block, "v", 1000)
    assert largest_proportion_se(block, "v", 1000) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    "joint",
    [
        Symmetric.from_gamma(6, 5.0),
        Grouped(((0, 4), (1,), (2,), (3,), (5,)), (Dense.binary(0.3, 0.2), None, None, None, None)),
    ],
)
def test_the_worst_standard_error_in_joint_blocks(joint: Transition):
    block = Block(Domain.of(a="xy", b="123").variables, joint)
    for name in "ab":
        expected = largest_se_numerically(block, name, 50)
        assert largest_proportion_se(block, name, 50) == pytest.approx(expected, rel=1e-3)


def enumerated_worst(matrix: np.ndarray, decoder: np.ndarray, of: np.ndarray) -> float:
    """The largest variance per record over all mixtures of two truths, on a fine grid."""
    worst = 0.0
    share = np.linspace(0, 1, 2001)[:, None]
    for a in range(len(matrix)):
        for b in range(len(matrix)):
            reports = share * matrix[a] + (1 - share) * matrix[b]
            for category in set(of):
                estimator = decoder[of == category].sum(axis=0)
                variance = reports @ estimator**2 - (reports @ estimator) ** 2
                worst = max(worst, float(variance.max()))
    return worst


@pytest.mark.parametrize("channel", [OneHot.from_probability(3, 0.8), Mixture.from_gamma(3, 5.0)])
def test_the_worst_standard_error_of_other_families(channel: Transition):
    block = Block(Domain.of(a="123").variables, channel)
    worst = enumerated_worst(channel.matrix(), channel.decoder(), np.arange(3))
    found = largest_proportion_se(block, "a", 40)
    assert found == pytest.approx(math.sqrt(worst / 40), rel=1e-5)
