"""Sampled blocks of more than 2^64 combinations: their words, their law, and their records."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from owner_agent.randomize import reports, sampling
from owner_agent.randomize.reports import Randomizer, randomize
from owner_agent.randomize.sampling import true_cells
from owner_agent.randomize.words import UniformWords
from owner_agent.state.keys import Secrets
from pramana_core.channels import RESOLUTION, Choice, Sampled, Symmetric, most_accurate
from pramana_core.domain import Variable
from pramana_core.plan import Block, Plan
from tests.owner_agent.randomize.drawing import sample_block, words

SECRETS = Secrets(draw=bytes(range(7, 39)), linkage=bytes(range(2, 34)))
SIZES = tuple(2 + 7 * i % 29 for i in range(60))


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
    randomizer = Randomizer(Plan((block,)), SECRETS, "asia", epoch)
    return randomizer.reports(keys, columns)


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
    made = randomize(Plan((WIDE,)), SECRETS, "asia", keys, columns)
    assert {n: sorted(c.tolist()) for n, c in made.columns.items()} == {
        n: sorted(c.tolist()) for n, c in whole.items()
    }
    for column in drawn(WIDE, keys[:0], {n: c[:0] for n, c in columns.items()}).values():
        assert column.shape == (0,)


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
