"""Reports that no true table can give are told, and honest ones are marked at the stated rate."""

from __future__ import annotations

import itertools
import math
import os

import numpy as np
import pytest
from scipy import stats

from pramana_core.channels import (
    Choice,
    CutAndPaste,
    Dense,
    Grouped,
    Identity,
    Mixture,
    OneHot,
    RandomSymmetric,
    Sampled,
    Symmetric,
    Withheld,
)
from pramana_core.domain import Variable
from pramana_core.estimation import plausibility as examination
from pramana_core.estimation.plausibility import PAIRS, RATE, Plausibility, examine
from pramana_core.plan import Block, Plan

HALF = 1 << 31


def variable(name, size):
    return Variable(name, tuple(map(str, range(size))))


def one(channel, *sizes):
    """A plan of one block."""
    sizes = sizes or (channel.shape[0],)
    return Plan((Block(tuple(variable("abcd"[i], k) for i, k in enumerate(sizes)), channel),))


def made(plan, truths, rng):
    """The columns that a plan's channels report of true cells, one array of cells per block."""
    columns = {}
    for block, truth in zip(plan.blocks, truths, strict=True):
        matrix = block.channel.matrix()
        reports = np.empty(len(truth), dtype=np.int64)
        for cell in np.unique(truth):
            of = truth == cell
            reports[of] = rng.choice(matrix.shape[1], of.sum(), p=matrix[cell] / matrix[cell].sum())
        codes = np.unravel_index(reports, block.reported_shape)
        columns |= {n: c.astype(np.uint16) for n, c in zip(block.names, codes, strict=True)}
    return columns


def expected_evidence(plan, laws, records):
    """The mean of each table's evidence under independent reports, by listing all of them.

    `laws` is a law of the report for each of the records, (laws, records, reports).
    """
    sizes = plan.reported_sizes
    total = np.zeros(len(laws))
    made_bets = 0
    for reports in itertools.product(range(laws.shape[2]), repeat=records):
        codes = np.unravel_index(reports, tuple(sizes.values()))
        columns = {n: c.astype(np.uint8) for n, c in zip(sizes, codes, strict=True)}
        found = examine(columns, plan)
        evidence = np.mean([math.exp(t.log_evidence) for t in found.tables])
        made_bets += evidence != 1
        total += evidence * np.prod(laws[:, range(records), reports], axis=1)
    return total, made_bets


@pytest.mark.slow
@pytest.mark.parametrize("steps", [300, 0], ids=["likely-odds", "any-odds"])
@pytest.mark.parametrize(
    ("plan", "other"),
    [
        (one(Symmetric.from_probability(2, 0.4)), Symmetric.from_probability(2, 0.1)),
        (one(Dense.binary(0.1, 0.45)), Dense.binary(0.01, 0.01)),
        (
            one(Sampled((2,), (Choice((0,), HALF, Symmetric.from_probability(2, 0.2)),))),
            Sampled((2,), (Choice((0,), 2 * HALF - 1, Symmetric.from_probability(2, 0.2)),)),
        ),
    ],
    ids=["symmetric", "binary", "sampled"],
)
def test_the_mean_evidence_is_at_most_one_whatever_the_truths(plan, other, steps, monkeypatch):
    """Summed over all reports of a few records, for all of their truths; also if EM stops early."""
    monkeypatch.setattr(examination, "STEPS", steps)
    monkeypatch.setattr(examination, "HINT", 0.0)  # more bets than are usual
    records = 7 if plan.reported_sizes["a"] == 2 else 5
    truths = np.array(list(itertools.product(range(2), repeat=records)))
    channel = plan.blocks[0].channel
    mean, made_bets = expected_evidence(plan, channel.matrix()[truths], records)
    assert made_bets > 10
    assert mean.max() <= 1 + 1e-9
    assert mean.min() < 1 - 1e-3
    # The negative control: reports of another channel.
    wrong, _ = expected_evidence(plan, other.matrix()[truths[-1:]], records)
    assert wrong[0] > 1.2


GAMMA = 5.0
SAMPLED = (3, 3, 2)


def sampled(gamma, weight=HALF):
    return Sampled(
        SAMPLED,
        (
            Choice((0, 1), weight, Symmetric.from_gamma(9, gamma)),
            Choice((1, 2), 2 * HALF - weight, Symmetric.from_gamma(6, gamma)),
        ),
    )


FAMILIES = {
    "symmetric": lambda g: (Symmetric.from_gamma(4, g), (4,)),
    "random": lambda g: (RandomSymmetric.around_gamma(5, g, 0.5), (5,)),
    "mixture": lambda g: (Mixture.from_gamma(12, g), (3, 4)),
    "dense": lambda g: (Dense.from_units(Symmetric.from_gamma(4, g).units()), (4,)),
    "grouped": lambda g: (Grouped.from_probability([[0, 2], [1, 3], [4]], 1 / (1 + g)), (5,)),
    "sampled": lambda g: (sampled(g), SAMPLED),
    "one-hot": lambda g: (OneHot.from_gamma(4, g), (4,)),
    "cut-and-paste": lambda g: (CutAndPaste.from_gamma((3, 2), 1, g), (3, 2)),
}
BOTH_WAYS = {"one-hot", "cut-and-paste"}


@pytest.mark.parametrize("family", FAMILIES)
def test_less_noise_than_declared_is_told_in_every_family(family):
    """Only two cells of the truth occur: the worst truths for a test, and the best ones."""
    channel, sizes = FAMILIES[family](GAMMA)
    plan = one(channel, *sizes)
    for gamma, told in ((GAMMA, False), (1.1 * GAMMA, True), (GAMMA / 1.1, family in BOTH_WAYS)):
        rng = np.random.default_rng(3)
        truth = np.where(rng.random(100_000) < 0.6, 0, channel.shape[0] - 1)
        columns = made(one(FAMILIES[family](gamma)[0], *sizes), [truth], rng)
        assert examine(columns, plan).inconsistent == told, gamma


def test_expected_reports_of_any_truth_win_nothing():
    """Reports exactly in the image are not bet against, also where categories are empty."""
    channel = Symmetric.from_probability(4, 0.3)
    counts = np.rint(channel.matrix()[0] * 100_000).astype(int)
    column = np.random.default_rng(5).permutation(np.repeat(np.arange(4), counts)).astype(np.uint8)
    assert examine({"a": column}, one(channel)).p_value > 0.5


def test_an_impossible_report_has_the_p_value_nought():
    channel = Dense.from_probabilities([[0.5, 0.5, 0.0], [0.2, 0.8, 0.0]])
    column = np.arange(50, dtype=np.uint8) % 2
    assert examine({"a": column}, one(channel)).p_value > RATE
    column[-1] = 2
    assert examine({"a": column}, one(channel)).p_value == 0


def test_what_is_known_exactly_sharpens_what_is_not():
    """Nobody of the second kind has the second category: only the pair tells."""
    channel = Symmetric.from_probability(2, 0.3)
    plan = Plan(
        (Block((variable("a", 2),), Identity(2)), Block((variable("b", 2),), channel)),
    )
    rng = np.random.default_rng(6)
    a = rng.integers(0, 2, 50_000)
    b = np.where(a == 1, 0, rng.integers(0, 2, 50_000))
    less = Plan((plan.blocks[0], Block((variable("b", 2),), Symmetric.from_probability(2, 0.27))))
    found = examine(made(less, [a, b], rng), plan)
    assert found.inconsistent
    assert found.worst == ("a", "b")
    assert not examine(made(plan, [a, b], rng), plan).inconsistent


def test_columns_sent_as_they_are_and_withheld_ones_are_nothing_to_examine():
    plan = Plan(
        (
            Block((variable("a", 2),), Identity(2)),
            Block((variable("b", 3),), Identity(3)),
            Block((variable("c", 2),), Withheld(2)),
        )
    )
    columns = {n: np.zeros(9, dtype=np.uint8) for n in "abc"}
    assert examine(columns, plan) == Plausibility((), 0)
    assert examine(columns, plan).p_value == 1
    assert examine(columns, plan).worst == ()


def test_the_choice_of_tables_is_bounded_and_looks_at_the_plan_only():
    names = [f"v{i}" for i in range(30)]
    channel = Symmetric.from_probability(2, 0.3)
    plan = Plan(tuple(Block((variable(name, 2),), channel) for name in names))
    columns = {name: np.zeros(1, dtype=np.uint8) for name in names}
    found = examine(columns, plan)
    assert [t.variables for t in found.tables[:31]] == [*((n,) for n in names), ("v0", "v1")]
    assert len(found.tables) == 30 + PAIRS
    assert found.left_out == 30 * 29 // 2 - PAIRS


CHAIN = (2, 3, 5, 10, 4)
KEPT = 0.7


def chain_plan(kept):
    return Plan(
        tuple(
            Block((variable(f"v{i}", k),), Symmetric.from_probability(k, 1 - kept))
            for i, k in enumerate(CHAIN)
        )
    )


def chain(records, rng):
    """True categories of five variables, rare ones among them; each goes with the one before."""
    columns = []
    for i, size in enumerate(CHAIN):
        shares = 0.02 ** (np.arange(size) / (size - 1))
        own = rng.choice(size, records, p=shares / shares.sum())
        with_it = rng.random(records) < 0.8
        columns.append(np.where(with_it, columns[-1] * size // CHAIN[i - 1], own) if i else own)
    return columns


BLOCKS = Plan(
    (
        Block((variable("a", 3), variable("b", 2)), Mixture.from_gamma(6, 4.0)),
        Block((variable("c", 3),), OneHot.from_gamma(3, 9.0)),
        Block((variable("d", 2), variable("e", 2)), CutAndPaste.from_gamma((2, 2), 1, 9.0)),
        Block((variable("f", 12),), Symmetric.from_gamma(12, 60.0)),
    )
)
ALL_SAMPLED = one(sampled(9.0), *SAMPLED)
LEVELS = (0.001, 0.01, 0.1)


def tightest(plan, records, repetitions, law):
    """The p-values of honest releases whose true records are drawn by `law`."""
    found = []
    for seed in range(repetitions):
        rng = np.random.default_rng([records, seed])
        found.append(examine(made(plan, law(plan, records, rng), rng), plan).p_value)
    return np.array(found)


def corner(plan, records, _rng):
    """Everybody is alike: all other categories are empty."""
    return [np.zeros(records, dtype=np.int64) for _ in plan.blocks]


def rare(plan, records, rng):
    """Most are alike; of each other cell there are about one in two hundred."""
    return [
        np.where(rng.random(records) < 0.9, 0, rng.integers(0, b.channel.shape[0], records))
        for b in plan.blocks
    ]


def linked(_plan, records, rng):
    return chain(records, rng)


BINARY = one(Symmetric.from_probability(2, 0.3))

CASES = {
    "binary-50": (BINARY, 50, 150, corner),
    "binary-5000": (BINARY, 5000, 150, corner),
    "chain-50": (chain_plan(KEPT), 50, 150, linked),
    "chain-5000": (chain_plan(KEPT), 5000, 100, linked),
    "chain-corner": (chain_plan(0.95), 2000, 100, corner),
    "blocks-60": (BLOCKS, 60, 150, rare),
    "blocks-3000": (BLOCKS, 3000, 100, corner),
    "sampled-500": (ALL_SAMPLED, 500, 150, corner),
    "sampled-20000": (ALL_SAMPLED, 20_000, 60, rare),
}


HONEST = int(os.environ.get("PRAMANA_HONEST_PART", "20"))
"""A part of the 1,110 releases is made, one in so many; `make campaign` makes them all."""


@pytest.mark.calibration
def test_honest_releases_are_marked_at_most_at_the_stated_rate():
    """Honest releases, the worst truths among them; false alarm: 1e-6 for each level."""
    p_values = np.concatenate(
        [tightest(plan, n, count // HONEST, truths) for plan, n, count, truths in CASES.values()]
    )
    assert len(p_values) == sum(count // HONEST for _, _, count, _ in CASES.values())
    for level in LEVELS:
        marked = int((p_values <= level).sum())
        assert marked <= stats.binom.isf(1e-6, len(p_values), level), level
    assert (p_values < 1).any()


@pytest.mark.calibration
def test_releases_of_another_channel_are_marked_where_honest_ones_are_not():
    """The negative control: a fifth less noise at a few thousand records."""
    plan, marked = chain_plan(KEPT), 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        columns = made(chain_plan(1 - 0.8 * (1 - KEPT)), chain(5000, rng), rng)
        marked += examine(columns, plan).inconsistent
    assert marked == 10


@pytest.mark.slow
@pytest.mark.parametrize(("factor", "told"), [(1.0, False), (1.02, True), (0.98, False)])
def test_two_percent_are_told_at_a_million_records(factor, told):
    """A value is kept 2 % more often than declared; more noise is noise that could be declared."""
    rng = np.random.default_rng(7)
    columns = made(chain_plan(KEPT * factor), chain(1_000_000 if told else 200_000, rng), rng)
    found = examine(columns, chain_plan(KEPT))
    assert found.inconsistent == told
    if told:
        assert found.p_value < 1e-50
