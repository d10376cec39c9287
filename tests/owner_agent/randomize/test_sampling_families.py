"""Channels drawn by several words: their exact law, by enumeration, and by the keyed sampler.

A decision compares a word with an integer or takes it as a uniform number. So a few words, the ends
of the intervals a word may fall into, weighed by the intervals' lengths, stand for all 2^32; all
combinations of them give the law of the report in rational numbers.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from owner_agent.randomize.reports import Randomizer
from owner_agent.randomize.sampling import join, split
from owner_agent.randomize.words import PER_CALL, UniformWords, uniform_below
from owner_agent.state.keys import Secrets
from pramana_core.channels import (
    RESOLUTION,
    Choice,
    CutAndPaste,
    Dense,
    Grouped,
    Mixture,
    OneHot,
    Product,
    RandomSymmetric,
    Sampled,
    SubsetSelection,
    Symmetric,
)
from pramana_core.domain import Variable
from pramana_core.plan import Block, Plan
from tests.owner_agent.randomize.drawing import sample, sample_columns

LAST = RESOLUTION - 1


def table_words(rows):
    """Return words that are given: row i, word j."""
    table = np.asarray(rows, dtype=np.uint64)
    spare = -table.shape[1] % PER_CALL
    table = np.pad(table, ((0, 0), (0, spare + 100 * PER_CALL))).astype(np.uint32)

    def source(counter, inputs):
        return table[inputs, PER_CALL * counter : PER_CALL * (counter + 1)]

    return UniformWords(source, np.arange(len(table)))


# Uniform numbers ---------------------------------------------------------------------------------

BELOW = [1, 2, 3, 5, 7, 256, 65_537, (1 << 31) + 1, LAST, RESOLUTION]


@pytest.mark.parametrize("n", BELOW)
def test_every_remainder_has_as_many_words_and_the_others_are_rejected(n):
    """Accepted are the words below q n, each number of which has the q words n apart."""
    last = RESOLUTION // n * n - 1
    rng = np.random.default_rng(n)
    accepted = np.unique(
        np.concatenate([
            [0, n - 1, last, last - n + 1, last // 2],
            rng.integers(0, last + 1, 200, dtype=np.uint64),
        ])
    )  # fmt: skip
    marker = 1 % n
    made = uniform_below(table_words([[w, marker] for w in accepted.tolist()]), n, 0, 1)
    assert made.tolist() == [int(w) % n for w in accepted]
    above = [w for w in {last + 1, (last + 1 + LAST) // 2, LAST} if last < w < RESOLUTION]
    if above:
        retried = uniform_below(table_words([[w, marker] for w in above]), n, 0, 1)
        assert retried.tolist() == [marker] * len(above)
    assert (last + 1) % n == 0
    assert RESOLUTION - last <= n


def test_a_number_above_32_bits_takes_two_words():
    n = 3 << 40
    last = (1 << 64) // n * n - 1
    values = [0, n - 1, n, last, RESOLUTION, 12_345_678_901_234_567]
    rows = [[v >> 32, v & LAST, 0, 7] for v in [*values, last + 1, (1 << 64) - 1]]
    made = uniform_below(table_words(rows), n, 0, 2)
    assert made.tolist() == [v % n for v in values] + [7, 7]


@pytest.mark.slow
def test_all_words_of_eight_bits(monkeypatch):
    """The same code with 2^8 in place of 2^32: all pairs of an attempt and the next."""
    monkeypatch.setattr("owner_agent.randomize.words.RESOLUTION", 256)
    pairs = np.array(list(itertools.product(range(256), repeat=2)))
    for n in (3, 7, 100, 129, 255):
        rows = np.pad(pairs, ((0, 0), (0, 2)))
        made = uniform_below(table_words(rows), n, 0, 1)
        accepted = (pairs[:, 0] < 256 // n * n) | (pairs[:, 1] < 256 // n * n)
        counts = np.bincount(made[accepted].astype(int), minlength=n)
        assert len(set(counts.tolist())) == 1, n


# Enumerated laws ---------------------------------------------------------------------------------


def threshold(units):
    """Return (word, probability) of the ends of the words below and not below `units`."""
    below = Fraction(units, RESOLUTION)
    low = [(0, below / 2), (units - 1, below / 2)] if units else []
    high = [(units, (1 - below) / 2), (LAST, (1 - below) / 2)] if units < RESOLUTION else []
    return low + high


def intervals(bounds):
    """Return the ends of the words between ascending bounds, weighed."""
    found = []
    for low, high in itertools.pairwise([0, *bounds]):
        share = Fraction(high - low, 2 * RESOLUTION)
        found += [(low, share), (high - 1, share)]
    return found


def uniform(n):
    """Return words that stand for a uniform number below n."""
    return [(number, Fraction(1, n)) for number in range(n)]


def pair(units):
    """Return (two words, probability) around a threshold over 2^64."""
    high, low = divmod(units, RESOLUTION)
    one, small = Fraction(1, RESOLUTION), Fraction(low, RESOLUTION)
    below, above = Fraction(high, RESOLUTION), 1 - Fraction(high + 1, RESOLUTION)
    return [
        ((0, LAST), below / 2), ((high - 1, LAST), below / 2),
        ((high, 0), one * small / 2), ((high, low - 1), one * small / 2),
        ((high, low), one * (1 - small) / 2), ((high, LAST), one * (1 - small) / 2),
        ((high + 1, 0), above / 2), ((LAST, 0), above / 2),
    ]  # fmt: skip


def reports(channel, sizes, truth, letters):
    """Return (report, its probability) for every combination of words."""
    combinations = list(itertools.product(*letters))
    rows = [
        list(itertools.chain.from_iterable(w if isinstance(w, tuple) else (w,) for w, _ in c))
        for c in combinations
    ]
    cells = np.full(len(rows), truth, dtype=np.uint64)
    made = sample_columns(channel, sizes, cells, table_words(rows))
    chances = [math.prod((p for _, p in c), start=Fraction(1)) for c in combinations]
    return zip(join(made, channel.report_sizes(sizes)).tolist(), chances, strict=True)


def law(channel, sizes, truth, letters):
    """Return the exact law of a truth's report over all combinations of words."""
    found = [Fraction(0)] * channel.shape[1]
    for report, chance in reports(channel, sizes, truth, letters):
        found[report] += chance
    assert sum(found) == 1
    return found


MIXTURE = Mixture.from_gamma(6, 5.3)
CUT = CutAndPaste.from_probability((2, 3), 1, 0.3)
DEEP = CutAndPaste.from_probability((2, 2), 3, 0.45)
FLIP = OneHot.from_probability(3, 0.8)
PAIR = Symmetric.from_gamma(6, 4.0)
ONE = Dense.binary(0.1, 0.25)
MIXED = Mixture.from_gamma(4, 3.0)
SAMPLED = Sampled(
    (2, 3, 2),
    (Choice((0, 1), 1 << 30, PAIR), Choice((2,), 3 << 29, ONE), Choice((0, 2), 12345, MIXED)),
)


SUBSETS = SubsetSelection.from_gamma(6, 1.5)
# Two shifts are inside and four outside, and a number below 4 serves both.
SUBSET_WORDS = [threshold(SUBSETS.inside_units), uniform(64), uniform(4)]

ENUMERATED = {
    "subsets": (SUBSETS, (6,), SUBSET_WORDS),
    "sampled-subsets": (
        Sampled((3, 2, 2), (Choice((0, 2), 1 << 30, SUBSETS),)),
        (3, 2, 2),
        [intervals([1 << 30, RESOLUTION]), *SUBSET_WORDS],
    ),
    "mixture": (MIXTURE, (2, 3), [pair(MIXTURE.keep), uniform(2), uniform(3)]),
    "mixture-one": (MIXTURE, (6,), [pair(MIXTURE.keep), uniform(6)]),
    "mask": (FLIP, (3,), [threshold(FLIP.flip_units)] * 3),
    "mask-always": (OneHot(2, RESOLUTION), (2,), [threshold(RESOLUTION)] * 2),
    "cut-and-paste": (
        CUT, (2, 3), [*[threshold(CUT.paste_units)] * 5, uniform(2), uniform(2), uniform(1)]
    ),
    "cut-deeper-than-the-record": (
        DEEP, (2, 2), [*[threshold(DEEP.paste_units)] * 4, uniform(4), uniform(2), uniform(1)]
    ),
    "cut-some-of-more": (
        CutAndPaste((2,), 1, 3 << 30, 3),
        (2,),
        [*[threshold(3 << 30)] * 2, uniform(2), uniform(3)],
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", ENUMERATED)
def test_the_law_of_the_report_is_the_declared_row(name):
    channel, sizes, letters = ENUMERATED[name]
    matrix = channel.matrix()
    for truth in range(channel.shape[0]):
        found = law(channel, sizes, truth, letters)
        assert np.allclose([float(f) for f in found], matrix[truth], rtol=1e-12, atol=1e-15)


def test_each_channel_of_a_product_has_words_of_its_own():
    """Word by word dealt to a mixture over two variables, which takes four, and to a single one."""
    channel = Product((2, 1), (MIXED, ONE))
    single = intervals(np.cumsum(ONE.units()[0]).tolist())
    for truth in (0, 2, 6):
        found = [Fraction(0)] * channel.shape[1]
        choices = [pair(MIXED.keep), single, uniform(2), uniform(2)]
        for ((high, low), p), (own, q), (a, r), (b, t) in itertools.product(*choices):
            words = table_words([[high, own, low, LAST, a, 0, b, LAST]])
            made = sample_columns(channel, (2, 2, 2), np.array([truth], np.uint64), words)
            found[int(join(made, (2, 2, 2))[0])] += p * q * r * t
        declared = channel.matrix()[truth]
        assert np.allclose([float(f) for f in found], declared, rtol=1e-12, atol=1e-15)


def test_a_wrong_law_is_told_apart():
    """The control of the enumeration: a neighbour of the threshold changes the law."""
    nearly = OneHot(3, FLIP.flip_units + 1)
    right = law(FLIP, (3,), 0, [threshold(FLIP.flip_units)] * 3)
    wrong = law(FLIP, (3,), 0, [threshold(nearly.flip_units)] * 3)
    assert right != wrong


def test_a_random_symmetric_channel_averages_to_the_declared_one():
    """Walk the first word under every choice of the record's own channel: integers all the way."""
    channel = RandomSymmetric(4, 1 << 29, 3)
    for truth in range(4):
        shares = np.zeros(4, dtype=object)
        for chosen in range(7):
            own = Symmetric(4, (1 << 29) - 3 + chosen)
            bounds = [own.keep_units + k * own.off_units for k in range(4)]
            for low, high in itertools.pairwise([0, *bounds]):
                ends = table_words([[low, chosen], [high - 1, chosen]])
                first, last = sample(channel, np.full(2, truth, np.uint8), ends).tolist()
                assert first == last
                shares[first] += high - low
        assert (shares == 7 * channel.units()[truth].astype(object)).all()


def test_the_widest_random_channel_takes_two_words_for_its_choice():
    """Over two categories the spread may be 2^31, and its choices are then 2^32 + 1."""
    channel = RandomSymmetric(2, 1 << 31, 1 << 31)
    # Chosen 0: never moved. Chosen 2^32: always moved. Chosen 2^31: moved from 2^31 on.
    rows = [[LAST, 0, 0], [0, 1, 0], [LAST // 2, 0, 1 << 31], [LAST // 2 + 1, 0, 1 << 31]]
    assert sample(channel, np.zeros(4, np.uint8), table_words(rows)).tolist() == [0, 1, 0, 1]


def test_the_law_of_a_sampled_block_is_the_declared_row():
    """Choice by choice, each with the words of its own channel."""
    bounds = [0, *np.cumsum([c.weight for c in SAMPLED.choices]).tolist(), RESOLUTION]
    keep, off = PAIR.keep_units, PAIR.off_units
    for truth, declared in enumerate(SAMPLED.matrix()):
        last = int(np.unravel_index(truth, SAMPLED.sizes)[2])
        inner = [
            [intervals([keep + k * off for k in range(6)])],
            [intervals(np.cumsum(ONE.units()[last]).tolist())],
            [pair(MIXED.keep), uniform(2), uniform(2)],
            [],  # nothing is reported
        ]
        found = [Fraction(0)] * SAMPLED.shape[1]
        for (low, high), letters in zip(itertools.pairwise(bounds), inner, strict=True):
            share = Fraction(high - low, 2 * RESOLUTION)
            chosen = [(low, share), (high - 1, share)]
            for report, chance in reports(SAMPLED, SAMPLED.sizes, truth, [chosen, *letters]):
                found[report] += chance
        assert sum(found) == 1
        assert np.allclose([float(f) for f in found], declared, rtol=1e-12, atol=1e-15)


# The keyed sampler -------------------------------------------------------------------------------

SECRETS = Secrets(draw=bytes(range(7, 39)), linkage=bytes(range(2, 34)))
OTHER = Secrets(draw=bytes(range(8, 40)), linkage=bytes(range(2, 34)))
RECORDS = 200_000


def _block(channel, sizes):
    return Block(
        tuple(Variable(f"v{i}", tuple(map(str, range(k)))) for i, k in enumerate(sizes)), channel
    )


FAMILIES = {
    "random-symmetric": (RandomSymmetric.around_gamma(6, 5.0, 0.5), (2, 3)),
    # Half of all attempts at its 2^31 + 1 choices are rejected.
    "random-often-rejected": (RandomSymmetric(2, 3 << 29, 1 << 30), (2,)),
    "grouped": (Grouped(((0, 3), (1, 2, 4)), (ONE, Symmetric.from_gamma(3, 4.0))), (5,)),
    "mixture": (MIXTURE, (2, 3)),
    "mask": (FLIP, (3,)),
    "subsets": (SUBSETS, (6,)),
    "cut-and-paste": (CUT, (2, 3)),
    "product": (Product((2, 1), (MIXTURE, ONE)), (2, 3, 2)),
    "sampled": (SAMPLED, (2, 3, 2)),
}
STRONGER = (
    Choice((0, 1), 1 << 30, Symmetric.from_gamma(6, 5.0)),
    Choice((2,), 3 << 29, Dense.binary(0.11, 0.25)),
    SAMPLED.choices[2],
)


@pytest.fixture(scope="module")
def keys():
    return np.frombuffer(np.random.default_rng(11).bytes(16 * RECORDS), dtype="V16")


def _cells(block, count=RECORDS):
    """Every possible truth in turn."""
    possible = np.arange(block.channel.shape[0])
    return possible[np.arange(count) % len(possible)].astype(np.uint8)


def _reports(block, cells, keys, secrets=SECRETS):
    sizes = [variable.size for variable in block.variables]
    columns = dict(zip(block.names, split(cells, sizes), strict=True))
    return Randomizer(Plan((block,)), secrets, "asia").reports(keys, columns)


def test_reports_follow_the_published_matrix(keys, assert_distribution):
    """At a false alarm of 1e-6; reports too rare for a chi-square are told as one."""
    channel, sizes = FAMILIES["sampled"]
    block = _block(channel, sizes)
    cells = _cells(block)
    made = join(list(_reports(block, cells, keys).values()), block.reported_shape)
    count = np.bincount(cells, minlength=channel.shape[0])
    joint = np.bincount(
        cells * np.int64(channel.shape[1]) + made.astype(np.int64),
        minlength=math.prod(channel.shape),
    )

    def compare(declared):
        expected = (count[:, None] * declared.matrix()).ravel()
        rare = (expected > 0) & (expected < 5)
        assert not joint[expected == 0].any()
        usual = expected >= 5
        assert_distribution(
            [*joint[usual], joint[rare].sum() + 5], [*expected[usual], expected[rare].sum() + 5]
        )

    compare(channel)
    # The control: the same family, a little stronger or weaker than declared.
    with pytest.raises(AssertionError, match="chi-square"):
        compare(Sampled(sizes, STRONGER))


@pytest.mark.parametrize("name", FAMILIES)
def test_a_record_is_reported_alike_whatever_is_beside_it(name, keys):
    channel, sizes = FAMILIES[name]
    block = _block(channel, sizes)
    few, cells = keys[:4000], _cells(block, 4000)
    whole = _reports(block, cells, few)
    order = np.random.default_rng(3).permutation(4000)[:1500]
    some = _reports(block, cells[order], few[order])
    again = _reports(block, cells, few)
    others = _reports(block, cells, few, OTHER)
    for variable, column in whole.items():
        assert column[order].tolist() == some[variable].tolist()
        assert column.tobytes() == again[variable].tobytes()
    assert any(whole[v].tobytes() != others[v].tobytes() for v in whole)
