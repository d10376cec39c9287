"""The central bound beside exact enumeration of all that a shuffled release can be."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest

from pramana_core.channels import RESOLUTION, Choice, Dense, Identity, Sampled, Symmetric
from pramana_core.domain import Domain
from pramana_core.errors import OptionError
from pramana_core.plan import Block, Plan
from pramana_core.privacy import (
    Amplification,
    CentralLoss,
    ShuffledReport,
    central_loss,
    largest_gamma,
    lower_central_delta,
    records_in_set,
    smallest_group,
)
from pramana_core.privacy.shuffling import _binomial, _upper
from tests.shared.channels.examples import EXAMPLES

GENERIC = ShuffledReport.of_gamma(19.0)
EPSILONS = (0.1, 0.5, 1.0)


def counts_law(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return all multisets of reports, each as its sum of marks, and their law."""
    marks = np.random.default_rng(7).integers(1 << 62, size=rows.shape[1], dtype=np.uint64)
    sums, law = np.zeros(1, dtype=np.uint64), np.ones(1)
    for row in rows:
        sums, place = np.unique((sums[:, None] + marks).ravel(), return_inverse=True)
        law = np.bincount(place, np.outer(law, row).ravel())
    return sums, law


def alike(rows: np.ndarray) -> np.ndarray:
    """Sum reports of equal likelihood ratios: nobody learns more from which of them it is."""
    seen = rows[:, rows.sum(axis=0) > 0]
    _, group = np.unique(np.round(seen / seen.sum(axis=0), 9), axis=1, return_inverse=True)
    return np.stack([np.bincount(group.ravel(), row) for row in seen])


def laws_of(first: np.ndarray, second: np.ndarray, others: Sequence[np.ndarray]):
    """Return the laws of two tables that differ in one record."""
    rows = alike(np.stack([first, second, *others]))
    laws = [counts_law(np.vstack([rows[place], rows[2:]])) for place in (0, 1)]
    np.testing.assert_array_equal(laws[0][0], laws[1][0])
    return laws[0][1], laws[1][1]


def divergence(one: np.ndarray, two: np.ndarray, epsilon: float) -> float:
    """Return the divergence of two laws, in this direction."""
    return float(np.maximum(one - math.exp(epsilon) * two, 0).sum())


def exact_delta(first: np.ndarray, second: np.ndarray, others: Sequence[np.ndarray], epsilon):
    """Return the divergence of two tables that differ in one record."""
    return divergence(*laws_of(first, second, others), epsilon)


@lru_cache(maxsize=1)
def pairs_of_laws(truths: tuple[tuple[float, ...], ...], n: int):
    """Return the laws of all pairs of truths, all other records of one truth, at any epsilon."""
    rows = np.array(truths)
    return [
        laws_of(one, two, [other] * (n - 1))
        for one, two in itertools.combinations(rows, 2)
        for other in rows
    ]


def worst_delta(matrix: np.ndarray, n: int, epsilon: float) -> float:
    """Return the largest divergence over pairs of truths, all other records of one truth."""
    truths = tuple(map(tuple, matrix.tolist()))
    return max(
        max(divergence(one, two, epsilon), divergence(two, one, epsilon))
        for one, two in pairs_of_laws(truths, n)
    )


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("n", [2, 3, 5])
def test_the_bounds_hold_every_family_between_them(name: str, n: int):
    channel = EXAMPLES[name]
    if n > 3 and channel.shape[1] > 9:
        pytest.skip("so many multisets take minutes")
    report = ShuffledReport.of(channel)
    for epsilon in EPSILONS:
        exact = worst_delta(channel.matrix(), n, epsilon)
        assert exact <= report.central_delta(n, epsilon) + 1e-12
        assert lower_central_delta(channel, n, epsilon) <= exact + 1e-12


LARGER = {
    "binary": Symmetric.from_gamma(2, 19.0),
    "symmetric": Symmetric.from_gamma(5, 19.0),
    "dense": Dense.from_probabilities([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]]),
    "sampled": Sampled(
        (3, 3),
        tuple(Choice((a,), RESOLUTION // 2, Symmetric.from_gamma(3, 19.0)) for a in (0, 1)),
    ),
}


@pytest.mark.parametrize("name", LARGER)
@pytest.mark.parametrize("n", [10, 20, 30])
def test_the_bounds_hold_up_to_thirty_records(name: str, n: int):
    channel = LARGER[name]
    matrix, report = channel.matrix(), ShuffledReport.of(channel)
    truths = matrix if len(matrix) < 4 else matrix[[0, len(matrix) // 2, -1]]
    for epsilon in EPSILONS:
        exact = worst_delta(truths, n, epsilon)
        assert exact <= report.central_delta(n, epsilon) + 1e-12
        assert lower_central_delta(channel, n, epsilon) <= exact + 1e-12


def test_other_records_may_be_of_any_truths():
    matrix = LARGER["dense"].matrix()
    bound = ShuffledReport.of(LARGER["dense"]).central_delta(4, 0.5)
    for others in itertools.combinations_with_replacement(matrix, 3):
        for one, two in itertools.permutations(matrix, 2):
            assert exact_delta(one, two, others, 0.5) <= bound


def test_two_binary_records_are_exact_where_a_sum_without_the_last_term_is_no_bound():
    binary = Symmetric.from_gamma(2, 3.0)
    exact = worst_delta(binary.matrix(), 2, 0.5)
    assert exact == pytest.approx(0.2534, abs=5e-5)
    bound = ShuffledReport.of(binary).central_delta(2, 0.5)
    assert exact <= bound == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize(
    ("n", "delta", "gamma", "epsilon"),
    [
        (10_000, 1e-8, 19, 0.275),
        (10_000, 1e-8, 87, 0.676),
        (10_000, 1e-8, 232, 1.267),
        (2_000, 1e-8, 19, 0.662),
        (2_000, 1e-6, 19, 0.528),
        (10_000, 1e-6, 19, 0.218),
        (32_561, 1e-6, 19, 0.116),
        (100_000, 1e-6, 19, 0.0634),
        (1_000_000, 1e-8, 19, 0.0245),
    ],
)
def test_the_epsilon_of_many_records(n: int, delta: float, gamma: float, epsilon: float):
    found = ShuffledReport.of_gamma(gamma).central_epsilon(n, delta)
    assert found == pytest.approx(epsilon, rel=2e-3)


@pytest.mark.parametrize(
    ("n", "epsilon"), [(1_000, 0.2), (1_000, 1.1), (10_000, 0.2), (10_000, 0.3)]
)
def test_the_sum_is_that_of_a_direct_one(n: int, epsilon: float):
    """All pairs of counts, by logarithms of factorials, in place of sums over binomial tails."""
    from scipy.special import gammaln

    p = 19.0
    alpha = 1 / (p + 1)
    most = 400 if n == 1_000 else 1_500
    a, b = np.arange(most)[:, None], np.arange(most)[None, :]
    rest = n - 1 - a - b

    def others(a, b, rest):
        possible = (a >= 0) & (b >= 0) & (rest >= 0)
        logs = gammaln(n) - gammaln(a + 1.0) - gammaln(b + 1.0) - gammaln(np.maximum(rest, 0) + 1.0)
        logs = logs + (a + b) * math.log(alpha) + rest * math.log1p(-2 * alpha)
        return np.where(possible, np.exp(np.where(possible, logs, 0)), 0)

    left, right = others(a - 1, b, rest + 1), others(a, b - 1, rest + 1)
    first = p * alpha * left + alpha * right
    second = alpha * left + p * alpha * right
    direct = np.maximum(first - math.exp(epsilon) * second, 0).sum()
    bound = ShuffledReport.of_gamma(p).central_delta(n, epsilon)
    assert direct <= bound * (1 + 1e-8)
    assert bound == pytest.approx(direct, rel=5e-3)


@pytest.mark.parametrize("trials", [1, 7, 400, 3_000])
def test_tails_and_weights_are_those_of_whole_numbers(trials: int):
    least = trials // 2 + math.isqrt(trials)
    whole = Fraction(sum(math.comb(trials, k) for k in range(least, trials + 1)), 2**trials)
    (found,) = _upper(np.array([trials]), np.array([float(least)]), 0.5)
    assert float(found) == pytest.approx(float(whole), rel=1e-11)
    low, weights = _binomial(trials, 0.25)
    for count in {low, trials // 4, low + len(weights) - 1}:
        exact = Fraction(math.comb(trials, count) * 3 ** (trials - count), 4**trials)
        assert weights[count - low] == pytest.approx(float(exact), rel=1e-11)


def test_the_lower_bound_of_many_records_is_close():
    for channel in (Symmetric.from_gamma(5, 19.0), Symmetric.from_gamma(64, 19.0)):
        upper = ShuffledReport.of(channel).central_delta(50_000, 0.05)
        assert upper * 0.9 < lower_central_delta(channel, 50_000, 0.05) < upper
    binary = Symmetric.from_gamma(2, 19.0)
    assert 0 < lower_central_delta(binary, 10_000, 0.2) < GENERIC.central_delta(10_000, 0.2)


def test_a_record_does_not_hide_among_reports_that_it_cannot_be():
    """With the count of all other reports in place of a blanket the sum is below the truth."""
    channel = Symmetric.from_gamma(5, 19.0)
    matrix = channel.matrix()
    exact = exact_delta(matrix[0], matrix[1], [matrix[4]] * 29, 0.5)
    assert lower_central_delta(channel, 30, 0.5) < exact * 0.9999
    assert exact == pytest.approx(0.243324, abs=5e-7)
    assert exact <= ShuffledReport.of(channel).central_delta(30, 0.5) < exact * 1.03


def test_neither_a_larger_gamma_nor_a_larger_variation_gives_a_smaller_delta():
    """The same mechanism has every larger gamma, so that bounds of both may be put in."""
    for n, epsilon in itertools.product((2, 10, 1_000), (0.05, 0.2)):
        of_gamma = [
            ShuffledReport(Amplification.of_gamma(g), 0.3).central_delta(n, epsilon)
            for g in (2.0, 3.0, 19.0, 400.0)
        ]
        assert of_gamma == sorted(of_gamma)
        of_variation = [
            ShuffledReport(Amplification.of_gamma(19.0), v).central_delta(n, epsilon)
            for v in (0.01, 0.1, 0.5, 0.8, 0.9, 1.0)
        ]
        assert of_variation == sorted(of_variation)


@pytest.mark.parametrize("local", [99.0, 101.0, 150.0, 300.0, 710.0, 1e4, 1e6])
def test_vast_local_epsilons_earn_nothing(local: float):
    report = ShuffledReport(Amplification(local), 0.999)
    assert report.central_epsilon(1_000, 1e-8) == pytest.approx(local)
    assert report.central_delta(1_000, 1.0) == pytest.approx(0.999)


@pytest.mark.parametrize(("n", "least"), [(10_000, 113), (32_000, 307), (100_000, 576)])
def test_the_largest_gamma_is_the_last_that_keeps_the_bound(n: int, least: float):
    goal = CentralLoss(1.0, 1e-8)
    gamma = largest_gamma(n, goal)
    assert gamma > least
    assert ShuffledReport.of_gamma(gamma).central_epsilon(n, 1e-8) <= 1.0
    assert ShuffledReport.of_gamma(gamma * 1.001).central_epsilon(n, 1e-8) > 1.0


def test_bounds_are_found_where_delta_hardly_depends_on_them():
    """Rounding errors of delta exceed its change there."""
    assert largest_gamma(100_000, CentralLoss(1.0, 1e-12)) > 500
    for gamma in (1091.677, 1092.8):
        found = ShuffledReport.of_gamma(gamma).central_epsilon(20_000, 1e-8)
        assert 4 < found < 5.5 < math.log(gamma)


@pytest.mark.parametrize("epsilon", [1e-17, 1e-300])
def test_a_tiny_central_epsilon_allows_gamma_one(epsilon: float):
    gamma = largest_gamma(1, CentralLoss(epsilon, 1e-8))
    assert 1.0 <= gamma < 1.0001


def test_the_largest_gamma_has_limits():
    assert largest_gamma(10_000_000, CentralLoss(5.0, 1e-6)) == 1e4
    assert largest_gamma(1, CentralLoss(2.0, 1e-9)) == pytest.approx(math.exp(2), rel=1e-6)


def test_one_record_earns_nothing_and_no_bound_exceeds_the_local_one():
    for gamma in (1.5, 3.0, 19.0):
        one = ShuffledReport.of_gamma(gamma)
        assert one.central_epsilon(1, 1e-12) == pytest.approx(math.log(gamma), rel=1e-6)
    assert GENERIC.central_epsilon(3, 1e-30) <= math.log(19)
    assert ShuffledReport.of(Identity(3)).central_epsilon(10**6, 1e-6) == math.inf
    assert ShuffledReport.of(EXAMPLES["withheld"]).central_epsilon(2, 1e-9) == 0
    public = Plan((Block(Domain.of(c="xy").variables, Identity(2)),))
    assert ShuffledReport.of(public).central_epsilon(10**6, 1e-6) == math.inf


def test_reports_under_the_same_pseudonyms_add_before_they_are_shuffled():
    a, b = Symmetric.from_gamma(3, 5.0), Symmetric.from_gamma(4, 3.0)
    together = ShuffledReport.together([ShuffledReport.of(a), ShuffledReport.of(b)])
    assert together.amplification.gamma == pytest.approx(15, rel=1e-6)
    joint = np.kron(a.matrix(), b.matrix())
    for n, epsilon in itertools.product((2, 3), EPSILONS):
        pairs = itertools.product((0, 5), (0, 5, 7))
        exact = max(
            exact_delta(joint[one], joint[two], [joint[11]] * (n - 1), epsilon)
            for one, two in pairs
            if one != two
        )
        apart = [ShuffledReport.of(c).central_delta(n, epsilon / 2) for c in (a, b)]
        assert exact <= together.central_delta(n, epsilon)
        if (n, epsilon) == (3, 0.1):
            assert exact > max(apart)
    plan = Plan(
        (
            Block(Domain.of(a="xyz").variables, a),
            Block(Domain.of(b="wxyz").variables, b),
            Block(Domain.of(c="xy").variables, Identity(2)),
        )
    )
    assert ShuffledReport.of(plan) == together


def test_a_new_draw_doubles_the_local_loss():
    one = ShuffledReport.of(Symmetric.from_gamma(3, 5.0))
    twice = ShuffledReport.together([one, one])
    assert twice.amplification.epsilon == pytest.approx(2 * one.amplification.epsilon)
    assert twice.central_epsilon(5_000, 1e-8) > 2 * one.central_epsilon(5_000, 1e-8)


def test_studies_with_their_own_pseudonyms_add_their_central_bounds():
    one = central_loss(GENERIC, 10_000)
    both = one + one
    assert both == CentralLoss(2 * one.epsilon, 2e-8)
    joint = ShuffledReport.together([GENERIC, GENERIC]).central_epsilon(10_000, 2e-8)
    assert both.epsilon < joint


def test_who_knows_a_set_finds_the_record_among_those_of_the_set():
    """Ten records of two sets, the target's one known: more than the bound of all ten."""
    binary = Symmetric.from_gamma(2, 19.0).matrix()
    known = sum(math.comb(9, m) / 2**9 * worst_delta(binary, m + 1, 0.5) for m in range(10))
    assert known == pytest.approx(0.691, abs=5e-4)
    assert GENERIC.central_delta(10, 0.5) == pytest.approx(0.563, abs=5e-4)
    bounds = [math.comb(9, m) / 2**9 * GENERIC.central_delta(m + 1, 0.5) for m in range(10)]
    assert known <= sum(bounds)


@pytest.mark.parametrize("name", ["symmetric", "sampled", "sampled subsets", "subset selection"])
def test_who_knows_whose_report_is_whose_has_the_local_bound_alone(name: str):
    """With the linkage secret other records hide nothing: their reports are seen beside it."""
    channel = EXAMPLES[name]
    matrix, local = channel.matrix(), Amplification.of(channel).epsilon
    pairs = list(itertools.permutations(range(len(matrix)), 2))

    def named(epsilon: float) -> float:
        excess = (matrix[a] - math.exp(epsilon) * matrix[b] for a, b in pairs)
        return max(float(np.maximum(one, 0).sum()) for one in excess)

    half = local / 2
    assert named(local) <= 1e-12
    assert named(half) > ShuffledReport.of(channel).central_delta(200, half)
    # Alone, or with everybody's report known, the bound is that of one record.
    assert named(half) <= ShuffledReport.of(channel).central_delta(1, half) + 1e-12


@pytest.mark.parametrize(("n", "weight", "delta"), [(10, 0.5, 0.01), (400, 0.1, 1e-6), (9, 1, 0.1)])
def test_so_few_records_of_a_set_are_rarer_than_delta(n: int, weight: float, delta: float):
    least = records_in_set(n, weight, delta)
    fewer = sum(
        math.comb(n - 1, k) * weight**k * (1 - weight) ** (n - 1 - k) for k in range(least - 1)
    )
    assert 1 <= least <= n
    assert fewer <= delta


def test_a_record_hides_among_those_that_agree_in_what_is_known():
    batch, owners = [1, 1, 1, 1, 2, 2], ["ab", "ab", "ab", "ab", "a", "a"]
    assert smallest_group([batch]) == smallest_group([batch, owners]) == 2
    assert smallest_group([batch, ["x", "x", "x", "y", "x", "x"]]) == 1
    assert GENERIC.central_epsilon(smallest_group([range(6)]), 1e-9) == pytest.approx(math.log(19))
    for known in ([], [[1], [1, 2]], [[]]):
        with pytest.raises(OptionError):
            smallest_group(known)


@pytest.mark.parametrize("known", [(0, 0, 1, 1, 1, 1), (0, 1, 1, 1, 1, 1)])
def test_records_that_are_known_apart_do_not_hide_each_other(known: tuple[int, ...]):
    """A public column, the owners that have a record, or its batch: enumerated as one report."""
    binary = Symmetric.from_gamma(2, 3.0)
    rows = [np.kron(np.eye(2)[place], binary.matrix()[1]) for place in known]
    target = [np.kron(np.eye(2)[0], row) for row in binary.matrix()]
    report, alike = ShuffledReport.of(binary), smallest_group([known])
    for epsilon in EPSILONS:
        exact = exact_delta(*target, rows[1:], epsilon)
        assert exact <= report.central_delta(alike, epsilon) + 1e-12
        if epsilon < 1:
            assert exact > report.central_delta(len(known), epsilon)


@pytest.mark.parametrize(("first", "second"), [(3.0, 3.0), (9.0, 2.0), (2.0, 9.0)])
def test_the_second_channel_may_be_chosen_after_the_first_reports_were_seen(first, second):
    """Enumerated with the worst second channel for each outcome of the first."""
    n, a = 3, Symmetric.from_gamma(2, first).matrix()
    channels = [Symmetric.from_gamma(2, second).matrix(), np.full((2, 2), 0.5)]
    for low in (0.02, 0.3):
        high = min(1 - (1 - low) / second, second * low)
        channels += [np.array([[x, 1 - x], [y, 1 - y]]) for x, y in ((low, high), (high, low))]
    local = Amplification.of_gamma(first * second)
    report = ShuffledReport(local, math.tanh(local.epsilon / 2))
    for other, epsilon in itertools.product((0, 1), EPSILONS):
        exact = 0.0
        for ones in range(n + 1):
            seen = [y for y in itertools.product((0, 1), repeat=n) if sum(y) == ones]
            worst = 0.0
            for c in channels:
                laws: dict[tuple, np.ndarray] = {}
                for y, z in itertools.product(seen, itertools.product((0, 1), repeat=n)):
                    others = math.prod(a[other, y[i]] * c[other, z[i]] for i in range(1, n))
                    outcome = tuple(sorted(zip(y, z, strict=True)))
                    laws[outcome] = laws.get(outcome, 0.0) + a[:, y[0]] * c[:, z[0]] * others
                gain = sum(max(0.0, p - math.exp(epsilon) * q) for p, q in laws.values())
                worst = max(worst, gain)
            exact += worst
        assert 0 < exact <= report.central_delta(n, epsilon)


def test_a_kept_report_that_is_seen_twice_tells_no_more():
    binary = Symmetric.from_gamma(2, 3.0).matrix()
    twice = np.zeros((2, 4))
    twice[:, [0, 3]] = binary
    for n, epsilon in itertools.product((2, 5), EPSILONS):
        assert worst_delta(twice, n, epsilon) == pytest.approx(worst_delta(binary, n, epsilon))


@pytest.mark.parametrize(
    ("ask", "where"),
    [
        (lambda: GENERIC.central_delta(0, 0.1), "records"),
        (lambda: GENERIC.central_delta(5, -0.1), "epsilon"),
        (lambda: GENERIC.central_epsilon(5, 0.0), "delta"),
        (lambda: lower_central_delta(Symmetric(2, 9), 0, 0.1), "records"),
        (lambda: largest_gamma(5, CentralLoss(0.0, 0.1)), "central_epsilon"),
        (lambda: largest_gamma(5, CentralLoss(1.0, 1.0)), "delta"),
        (lambda: records_in_set(5, 0.0, 0.1), "weight"),
    ],
)
def test_what_is_no_bound_is_refused(ask, where: str):
    with pytest.raises(OptionError) as refused:
        ask()
    assert refused.value.where == where
