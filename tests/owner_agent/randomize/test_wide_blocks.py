"""Sampled blocks of more than 2^64 combinations: their words, their law, and their records."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from owner_agent.randomize import reports, sampling
from owner_agent.randomize.draws import UniformWords
from owner_agent.randomize.reports import Randomizer, randomize
from owner_agent.randomize.sampling import (
    COUNTED_CELLS,
    ChoiceSampler,
    join,
    rows_by_label,
    sampler,
    true_cells,
)
from owner_agent.state.keys import Secrets
from pramana_core.channels import (
    RESOLUTION,
    Choice,
    Dense,
    Mixture,
    Sampled,
    Symmetric,
    most_accurate,
)
from pramana_core.domain import Variable
from pramana_core.plan import Block, Plan
from tests.owner_agent.randomize.drawing import sample_block, sample_columns, words

SECRETS = Secrets(draw=bytes(range(7, 39)), linkage=bytes(range(2, 34)))
SIZES = tuple(2 + 7 * i % 29 for i in range(60))
PAIRS = tuple(itertools.combinations(range(60), 2))


def block_of(channel):
    sizes = enumerate(channel.sizes)
    return Block(tuple(Variable(f"v{i}", tuple(map(str, range(k)))) for i, k in sizes), channel)


def pairs_of(sizes, gamma=19.0):
    pairs = tuple(itertools.combinations(range(len(sizes)), 2))
    units = RESOLUTION // len(pairs)
    return Sampled(
        sizes,
        tuple(Choice((a, b), units, most_accurate(sizes[a] * sizes[b], gamma)) for a, b in pairs),
    )


WIDE = block_of(pairs_of(SIZES))


def records(block, count, seed=1):
    rng = np.random.default_rng(seed)
    keys = np.frombuffer(rng.bytes(16 * count), dtype="V16")
    columns = {v.name: rng.integers(0, v.size, count).astype(np.uint8) for v in block.variables}
    return keys, columns


def drawn(block, keys, columns, epoch=0):
    randomizer = Randomizer(Plan((block,)), SECRETS, "asia", {block.name: epoch})
    return randomizer.reports(keys, columns)


def test_a_record_of_a_wide_block_is_its_codes():
    _, columns = records(WIDE, 5)
    assert WIDE.channel.shape[0] > COUNTED_CELLS
    codes = true_cells(WIDE, columns)
    assert codes.dtype == np.uint8
    assert codes.tolist() == np.stack([columns[n] for n in WIDE.names], axis=1).tolist()
    large = block_of(pairs_of((300, *SIZES)))
    assert true_cells(large, columns | {f"v{i}": np.zeros(5, np.uint8) for i in (0, 60)}).dtype == (
        np.uint16
    )


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [SIZES, (300, *SIZES)], ids=["bytes", "two-bytes"])
def test_the_words_are_aes_of_a_cbc_mac_of_pseudonym_and_codes(sizes):
    """By the standard library's way: AES in CBC mode over the whole message, its last block."""
    block = block_of(pairs_of(sizes))
    keys, columns = records(block, 3)
    columns["v0"] = np.array([1, 259 % sizes[0], 0], dtype=np.uint16)
    cells = true_cells(block, columns)
    made = words(SECRETS, "asia", block, keys, cells)

    def derived(info):
        return HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(SECRETS.draw)

    about = b"\x00".join([b"asia", block.digest.encode()])
    for row in range(3):
        message = bytes(keys[row]) + cells[row].astype(cells.dtype.newbyteorder(">")).tobytes()
        message += bytes(-len(message) % 16)
        key = derived(b"pramana/draw-input/1\x00" + about)
        cbc = Cipher(algorithms.AES256(key), modes.CBC(bytes(16))).encryptor()
        tag = cbc.update(message)[-16:]
        for counter, suffix in ((0, b""), (1, b"\x001")):
            key = derived(b"pramana/draw/2\x00" + about + suffix)
            out = Cipher(algorithms.AES256(key), modes.ECB()).encryptor().update(tag)
            expected = np.frombuffer(out, dtype=">u4").tolist()
            assert [int(made.word(4 * counter + i)[row]) for i in range(4)] == expected


def test_every_code_of_a_record_and_its_pseudonym_change_all_its_words():
    keys, columns = records(WIDE, 1)
    rows = [{n: int(columns[n][0]) for n in WIDE.names}]
    for variable in WIDE.variables:
        rows.append(rows[0] | {variable.name: (rows[0][variable.name] + 1) % variable.size})
    table = {n: np.array([row[n] for row in rows], np.uint8) for n in WIDE.names}
    cells = true_cells(WIDE, table)
    same = np.repeat(keys, len(rows))
    first = words(SECRETS, "asia", WIDE, same, cells)
    made = np.stack([first.word(i) for i in range(8)], axis=1)
    assert len({tuple(row) for row in made.tolist()}) == len(rows)
    assert len(np.unique(made)) == made.size  # 488 words of 2^32: two alike once in 36,000 runs
    other, _ = records(WIDE, len(rows), seed=2)
    beside = words(SECRETS, "asia", WIDE, other, cells)
    later = words(SECRETS, "asia", WIDE, same, cells, 1)
    for source in (beside, later):
        assert (source.word(0) != made[:, 0]).all()


@pytest.mark.slow
def test_a_record_is_reported_alike_whatever_is_beside_it(monkeypatch):
    """In any order, with any others, and however many records are drawn together."""
    keys, columns = records(WIDE, 3000)
    whole = drawn(WIDE, keys, columns)
    order = np.random.default_rng(3).permutation(3000)[:700]
    some = drawn(WIDE, keys[order], {n: c[order] for n, c in columns.items()})
    for name, column in whole.items():
        assert column[order].tobytes() == some[name].tobytes()
        assert column.dtype == np.uint8
    monkeypatch.setattr(reports, "_TOGETHER", 64)
    monkeypatch.setattr(sampling, "_ENOUGH", 1)
    made = randomize(Plan((WIDE,)), SECRETS, "asia", keys, columns)
    assert {n: sorted(c.tolist()) for n, c in made.columns.items()} == {
        n: sorted(c.tolist()) for n, c in whole.items()
    }
    for column in drawn(WIDE, keys[:0], {n: c[:0] for n, c in columns.items()}).values():
        assert column.shape == (0,)


def test_drawing_those_of_one_channel_together_is_drawing_choice_by_choice():
    """Channels of several kinds, choices of several sizes, and records of no choice."""
    sizes = (2, 3, 4, 2, 3)
    kinds = [
        Choice((0, 1), 3 << 28, Symmetric.from_gamma(6, 9.0)),
        Choice((1, 3), 3 << 28, Symmetric.from_gamma(6, 9.0)),
        Choice((3, 4), 3 << 28, Symmetric.from_gamma(6, 9.0)),
        Choice((2,), 3 << 28, Symmetric.from_gamma(4, 9.0)),
        Choice((0,), 1 << 28, Dense.binary(0.1, 0.3)),
        Choice((3,), 1 << 28, Dense.binary(0.1, 0.3)),
        Choice((0, 2, 4), 1 << 28, Mixture.from_gamma(24, 19.0)),
    ]
    block = block_of(Sampled(sizes, tuple(kinds)))
    keys, columns = records(block, 4000)
    cells = true_cells(block, columns)
    chosen = np.random.default_rng(5).integers(0, len(kinds) + 1, len(keys))
    own = words(SECRETS, "asia", block, keys, cells)
    true = [columns[n] for n in block.names]
    together = ChoiceSampler(kinds, sizes, sampler)(true, chosen, own)
    for index, rows in rows_by_label(chosen, len(kinds) + 1):
        axes = kinds[index].axes if index < len(kinds) else ()
        for axis in set(range(5)) - set(axes):
            assert (together[axis][rows] == sizes[axis]).all()
        if axes:
            inner = [sizes[axis] for axis in axes]
            inside = join([true[axis][rows] for axis in axes], inner)
            alone = sample_columns(kinds[index].channel, inner, inside, own.of(rows))
            for axis, column in zip(axes, alone, strict=True):
                assert together[axis][rows].tolist() == column.tolist()


def test_the_law_at_width_is_the_declared_one_on_every_word(monkeypatch):
    """Two variables of a block whose cells are too many to count: the exact law of each choice.

    The same code path as of a hundred variables, with the limit of what is counted at nothing.
    """
    monkeypatch.setattr(sampling, "COUNTED_CELLS", 0)
    channel = Sampled(
        (2, 3),
        (
            Choice((0, 1), 1 << 30, Symmetric(6, 1 << 28)),
            Choice((1,), 1 << 31, Symmetric(3, 1 << 29)),
        ),
    )
    block = block_of(channel)
    first = [0, (1 << 30) - 1, 1 << 30, (3 << 30) - 1, 3 << 30, RESOLUTION - 1]
    shares = [Fraction(1, 8)] * 2 + [Fraction(1, 4)] * 2 + [Fraction(1, 8)] * 2
    # Off and keep of both channels are multiples of 2^28, so that 16 second words stand for all.
    second = [(place << 28) + 12345 for place in range(16)]
    for truth, row in enumerate(channel.matrix()):
        codes = np.unravel_index(truth, (2, 3))
        rows = list(itertools.product(first, second))
        table = np.array(rows, dtype=np.uint32)

        def source(counter, inputs, table=table):
            assert counter == 0
            return np.pad(table, ((0, 0), (0, 2)))[inputs]

        columns = {f"v{i}": np.full(len(rows), c, np.uint8) for i, c in enumerate(codes)}
        cells = true_cells(block, columns)
        assert cells.shape == (len(rows), 2)
        given = UniformWords(source, np.arange(len(rows)))
        made = sample_block(block, cells, given)
        law = {}
        for place, (report, share) in enumerate(
            zip(
                zip(*(c.tolist() for c in made.values()), strict=True),
                np.repeat(shares, 16),
                strict=True,
            )
        ):
            assert place < len(rows)
            law[report] = law.get(report, Fraction(0)) + share / 16
        declared = row.reshape(3, 4)
        for report in itertools.product(range(3), range(4)):
            assert float(law.get(report, Fraction(0))) == declared[report]


@pytest.mark.slow
def test_reports_at_width_follow_the_published_matrix(assert_distribution):
    """All choices, and in each whether the pair was kept, at a false alarm of 1e-6."""
    count = 300_000
    keys, columns = records(WIDE, count)
    made = drawn(WIDE, keys, columns)
    told = np.stack([made[n] != size for n, size in zip(WIDE.names, SIZES, strict=True)], axis=1)
    assert (told.sum(axis=1) <= 2).all()
    pair = np.argwhere(told)[:, 1].reshape(-1, 2)
    place = np.full((60, 60), -1)
    place[tuple(np.array(PAIRS).T)] = np.arange(len(PAIRS))
    reported = np.flatnonzero(told.any(axis=1))
    chosen = place[pair[:, 0], pair[:, 1]]
    true = np.stack([columns[n] for n in WIDE.names], axis=1)
    code = np.stack([made[n] for n in WIDE.names], axis=1)
    kept = np.ones(len(reported), dtype=bool)
    for axis in (0, 1):
        kept &= true[reported, pair[:, axis]] == code[reported, pair[:, axis]]
    counts = np.bincount(2 * chosen + kept, minlength=2 * len(PAIRS))

    def compare(channel):
        expected = np.array([
            count * c.weight / RESOLUTION * share
            for c in channel.choices
            for share in (1 - c.channel.matrix()[0, 0], c.channel.matrix()[0, 0])
        ])  # fmt: skip
        by_size = np.argsort([c.channel.shape[0] for c in channel.choices], kind="stable")
        grouped = np.add.reduceat(counts.reshape(-1, 2)[by_size], np.arange(0, len(PAIRS), 15))
        wanted = np.add.reduceat(expected.reshape(-1, 2)[by_size], np.arange(0, len(PAIRS), 15))
        assert_distribution(grouped.ravel(), wanted.ravel())

    compare(WIDE.channel)
    with pytest.raises(AssertionError, match="chi-square"):
        compare(pairs_of(SIZES, 20.5))
