"""The central bound of a plan's own mechanism, as `plan` states it, beside exact enumeration."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

import pramana as pm
from pramana_core.channels import (
    RESOLUTION,
    Choice,
    Coordinated,
    Dense,
    Identity,
    Sampled,
    SubsetSelection,
    Symmetric,
    Transition,
    Withheld,
)
from pramana_core.domain import Variable
from pramana_core.plan import Block, Plan
from pramana_core.privacy import (
    ShuffledReport,
    central_loss,
    known_set_loss,
    lower_central_delta,
    record_loss,
)
from pramana_core.wire.privacy import CentralMessage
from tests.shared.privacy.test_shuffling import worst_delta

HALF = RESOLUTION // 2
BINARY = Symmetric.from_gamma(2, 19.0)
EITHER = Sampled((2, 2), (Choice((0,), HALF, BINARY), Choice((1,), HALF, BINARY)))
DENSE = Dense.from_probabilities([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]])


def block(channel: Transition, *names: str) -> Block:
    sizes = getattr(channel, "sizes", (channel.shape[0],))
    return Block(
        tuple(
            Variable(name, tuple(map(str, range(size))))
            for name, size in zip(names, sizes, strict=True)
        ),
        channel,
    )


PLANS = {
    "symmetric": Plan((block(Symmetric.from_gamma(6, 19.0), "a"),)),
    "dense": Plan((block(DENSE, "a"),)),
    "subsets": Plan((block(SubsetSelection.from_gamma(6, 3.0), "a"),)),
    "sampled": Plan((block(EITHER, "a", "b"),)),
    "two columns": Plan(
        (block(Symmetric.from_gamma(3, 4.0), "a"), block(Symmetric.from_gamma(2, 4.0), "b"))
    ),
    "beside others": Plan(
        (
            block(Identity(2), "public"),
            block(Symmetric.from_gamma(4, 19.0), "a"),
            block(Withheld(2), "hidden"),
            block(Symmetric(2, HALF), "noise"),
        )
    ),
}


def matrix_of(plan: Plan) -> np.ndarray:
    """Return the joint matrix of the randomized blocks."""
    found = np.ones((1, 1))
    for one in plan.blocks:
        if not one.channel.is_identity:
            found = np.kron(found, one.channel.matrix())
    return found


def stated_fails(plan: Plan, report: ShuffledReport, n: int, delta: float) -> bool:
    """Return whether the stated epsilon is below the truth at a delta."""
    epsilon = CentralMessage.of(report, n, delta).epsilon
    assert epsilon is not None
    matrix = matrix_of(plan)
    truths = matrix if len(matrix) < 5 else matrix[[0, len(matrix) // 2, -1]]
    return worst_delta(truths, n, epsilon) > delta * (1 + 1e-9)


@pytest.mark.parametrize("n", [2, 3, 5, 10, 20, 30])
@pytest.mark.parametrize("name", PLANS)
def test_what_a_plan_states_is_never_below_the_truth(name: str, n: int):
    if n > {"subsets": 3, "two columns": 10}.get(name, 30):
        pytest.skip("too many multisets to enumerate")
    plan = PLANS[name]
    own = ShuffledReport.of(plan)
    for delta in (0.2, 0.02):
        assert not stated_fails(plan, own, n, delta)
        assert own.central_epsilon(n, delta) <= central_loss(
            ShuffledReport(record_loss(plan)), n, delta
        ).epsilon * (1 + 1e-9)


@pytest.mark.parametrize("name", ["symmetric", "dense", "sampled", "beside others"])
def test_half_of_the_total_variation_is_no_bound(name: str):
    """The negative control of the test above."""
    own = ShuffledReport.of(PLANS[name])
    half = replace(own, variation=own.variation / 2)
    assert any(stated_fails(PLANS[name], half, n, 0.02) for n in (3, 10))


@pytest.mark.parametrize(
    ("channel", "epsilon"),
    [
        (BINARY, "0.2753"),
        (Symmetric.from_gamma(64, 19.0), "0.1324"),
        (Symmetric.from_gamma(256, 19.0), "0.07096"),
        (SubsetSelection.from_gamma(256, 19.0), "0.1913"),
        (Symmetric.from_gamma(10_000, 19.0), "0.01284"),
        (SubsetSelection.from_gamma(10_000, 19.0), "0.1926"),
    ],
)
def test_many_categories_lose_less_than_the_worst_mechanism(channel: Transition, epsilon: str):
    found = CentralMessage.of(ShuffledReport.of(Plan((block(channel, "a"),))), 10_000)
    assert found.epsilon is not None
    assert (
        f"central epsilon {epsilon} at delta 1e-08 (among 10,000 similar records)"
        == found.description
    )
    assert found.known_set is None


def test_public_columns_alone_and_no_columns_at_all():
    public = ShuffledReport.of(Plan((block(Identity(2), "a"), block(Withheld(2), "b"))))
    assert CentralMessage.of(public, 10_000).epsilon is None
    hidden = ShuffledReport.of(Plan((block(Withheld(2), "b"), block(Withheld(3), "c"))))
    assert CentralMessage.of(hidden, 10_000).epsilon == 0


def test_later_plans_that_saw_earlier_reports_are_the_worst_of_their_local_loss():
    one = ShuffledReport.of(Symmetric.from_gamma(64, 5.0))
    both = ShuffledReport.together([one, one])
    later = ShuffledReport.together([one, one], adaptive=True)
    assert both.central_epsilon(10_000, 1e-8) < later.central_epsilon(10_000, 1e-8)
    assert later.amplification == both.amplification
    assert later.central_epsilon(10_000, 1e-8) == pytest.approx(
        ShuffledReport.of_gamma(25.0).central_epsilon(10_000, 1e-8)
    )
    alone = ShuffledReport.together([one], adaptive=True)
    assert alone.variation == pytest.approx(one.variation, rel=1e-14)


# Sets that an adversary knows beforehand ---------------------------------------------------------


def known_delta(n: int, epsilon: float) -> float:
    """Return the exact delta of `EITHER` against a reader who knows the record's set."""
    matrix = BINARY.matrix()
    return sum(
        math.comb(n - 1, m) / 2 ** (n - 1) * worst_delta(matrix, m + 1, epsilon) for m in range(n)
    )


@pytest.mark.parametrize("n", [2, 10, 30])
def test_who_knows_the_set_gains_at_most_what_is_stated(n: int):
    report = ShuffledReport.of(PLANS["sampled"])
    for delta in (0.3, 0.05):
        stated = CentralMessage.of(report, n, delta)
        assert stated.epsilon is not None
        assert stated.known_set is not None
        assert known_delta(n, stated.known_set) <= delta
        assert stated.epsilon <= stated.known_set <= math.log(19) * (1 + 1e-9)
        # The bound of all records is none against this reader.
        assert known_delta(n, stated.epsilon) > delta or n == 2


def test_the_rarest_set_and_the_most_revealing_count():
    weak = Symmetric.from_gamma(8, 19.0)
    choices = (Choice((0,), RESOLUTION // 10, weak), Choice((1,), RESOLUTION // 2, BINARY))
    report = ShuffledReport.of(Sampled((8, 2), choices))
    assert report.set_weights == pytest.approx((0.1,))
    assert report.set_variation == pytest.approx(0.9)
    assert report.variation == pytest.approx(0.5 * 0.9 + 0.1 * 18 / 26)
    joint = ShuffledReport.together([report, report, ShuffledReport.of(weak)])
    assert joint.set_weights == pytest.approx((0.1, 0.1))
    losses = [known_set_loss(one, 50_000) for one in (report, joint)]
    assert losses[0].epsilon < losses[1].epsilon
    assert known_set_loss(ShuffledReport.of(weak), 50_000) is None


def test_a_record_without_a_set_hides_its_other_reports_among_few():
    """1 of 200 records reports nothing of the sampled block."""
    weak, other = Symmetric.from_gamma(2, 3.0), Symmetric.from_gamma(2, 9.0)
    most = HALF - RESOLUTION // 400
    sampled = block(Sampled((2, 2), (Choice((0,), most, weak), Choice((1,), most, weak))), "a", "b")
    report = ShuffledReport.of(Plan((sampled, block(other, "c"))))
    assert report.set_weights == pytest.approx((1 / 200,))
    stated, n = known_set_loss(report, 10_000), 10_000
    silent = binom(n - 1, 0.005).pmf(range(150))
    below = (p * lower_central_delta(other, m + 1, stated.epsilon) for m, p in enumerate(silent))
    assert sum(below) <= stated.delta


def test_sets_of_later_draws_may_depend_on_each_other():
    report = ShuffledReport.of(EITHER)
    joint = ShuffledReport.together([report, report], adaptive=True)
    assert known_set_loss(joint, 50_000).epsilon == pytest.approx(math.log(19**2), rel=1e-6)
    apart = ShuffledReport.together([report, ShuffledReport.of(BINARY)], adaptive=True)
    assert apart.set_weights == (0.5,)


# Parts of one study plan -------------------------------------------------------------------------


def test_parts_of_one_coin_are_not_independent():
    """Heads reports west's variable, tails east's: the two losses never meet in one record."""
    parts = [
        Plan((block(Coordinated((2,), (Choice((0,), HALF, BINARY),), (start,), "c" * 64), name),))
        for start, name in ((0, "west"), (HALF, "east"))
    ]
    joint = ShuffledReport.of(Plan.combine(parts))
    apart = ShuffledReport.together(map(ShuffledReport.of, parts))
    assert joint.amplification.gamma == pytest.approx(19, rel=1e-6)
    assert joint.variation == pytest.approx(0.9)
    assert apart.variation == pytest.approx(1 - 0.55**2)
    matrix = EITHER.matrix()
    wrong = replace(joint, variation=apart.variation)
    below = []
    for n, epsilon in itertools.product((2, 5, 10), (0.1, 0.5, 1.0)):
        exact = worst_delta(matrix[[0, 3]], n, epsilon)
        assert exact <= joint.central_delta(n, epsilon) + 1e-12
        below.append(exact > wrong.central_delta(n, epsilon))
    assert any(below)


# The lower bound ---------------------------------------------------------------------------------


def random_dense(rng: np.random.Generator, size: int) -> Dense:
    rows = 0.999 * rng.dirichlet(np.full(size, rng.choice([0.3, 1.0])), size=size) + 0.001 / size
    return Dense.from_probabilities((rows / rows.sum(axis=1, keepdims=True)).tolist())


def test_the_lower_bound_of_sampled_dense_channels_is_below_the_truth():
    """Two choices of the first variable, whose reports look alike, and one of both variables."""
    rng = np.random.default_rng(5)
    for _ in range(40):
        sizes = tuple(map(int, rng.integers(2, 4, size=2)))
        quarter = RESOLUTION // 4
        choices = (
            Choice((0,), quarter, random_dense(rng, sizes[0])),
            Choice((0,), quarter, random_dense(rng, sizes[0])),
            Choice((0, 1), HALF, random_dense(rng, math.prod(sizes))),
        )
        coin = Coordinated(sizes, choices, (0, quarter, HALF), "c" * 64)
        for channel in (Sampled(sizes, choices), coin):
            matrix = channel.matrix()
            for epsilon in (0.1, 0.7):
                excess = matrix[:, None] - math.exp(epsilon) * matrix[None]
                exact = np.maximum(excess, 0).sum(axis=2).max()
                assert lower_central_delta(channel, 1, epsilon) <= exact + 1e-12
                assert exact <= ShuffledReport.of(channel).central_delta(1, epsilon) + 1e-12


@pytest.mark.parametrize("gamma", [19.0, 1 / 3])
def test_the_lower_bound_of_one_category_that_is_rarely_kept(gamma: float):
    """Below gamma 1 the true category is the rarest report."""
    off = round(RESOLUTION / (2 + gamma))
    channel = Symmetric(3, off)
    for n, epsilon in itertools.product((1, 2, 5), (0.1, 0.5)):
        exact = worst_delta(channel.matrix(), n, epsilon)
        assert lower_central_delta(channel, n, epsilon) <= exact + 1e-12
        assert exact <= ShuffledReport.of(channel).central_delta(n, epsilon) + 1e-12


def test_a_set_of_many_hides_among_the_records_of_other_sets():
    domain = pm.Domain.of(**{f"v{i}": "abcd" for i in range(300)})
    pairs = {domain.names: {"kind": "sampled", "size": 2, "gamma": 19}}
    report = ShuffledReport.of(pm.plan(domain, pairs))
    assert report.variation == pytest.approx(18 / 34)
    found = CentralMessage.of(report, 100_000)
    # 44,850 sets: nobody shares the set of a record.
    assert found.known_set == pytest.approx(math.log(19), rel=1e-6)
    assert found.epsilon < 0.1
