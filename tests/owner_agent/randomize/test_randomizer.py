"""Draws in chunks and threads, spans of words, and pseudonyms: the same bits."""

import itertools

import numpy as np
import pytest

from owner_agent.randomize import reports
from owner_agent.randomize.choices import spans_of
from owner_agent.randomize.reports import Randomizer, randomize
from owner_agent.state.keys import Secrets
from pramana_core.channels import RESOLUTION, Symmetric, most_accurate
from pramana_core.channels.product import Product
from pramana_core.channels.sampled import Choice, Sampled
from pramana_core.domain import Variable
from pramana_core.plan import Block, Plan
from tests.shared.channels.examples import EXAMPLES

SECRETS = Secrets(draw=bytes(range(7, 39)), linkage=bytes(range(2, 34)))
CENSUS = (4, 5, 5, 5, 2, 2)
PAIRS = Sampled(
    CENSUS,
    tuple(
        Choice(pair, RESOLUTION // 15, most_accurate(CENSUS[pair[0]] * CENSUS[pair[1]], 19.0))
        for pair in itertools.combinations(range(6), 2)
    ),
)
CHANNELS = EXAMPLES | {"pairs": PAIRS, "wide codes": Symmetric.from_gamma(300, 99.0)}


def block_of(channel):
    sizes = getattr(channel, "sizes", None) or (channel.shape[0],)
    sizes = (2, 3, 2) if isinstance(channel, Product) else sizes
    names = enumerate(sizes)
    return Block(tuple(Variable(f"v{i}", tuple(map(str, range(k)))) for i, k in names), channel)


def records_of(block, count):
    """Return pseudonyms and codes."""
    rng = np.random.default_rng(count)
    keys = np.frombuffer(rng.bytes(16 * count), dtype="V16")
    columns = {v.name: rng.integers(0, v.size, count, dtype=np.uint16) for v in block.variables}
    return keys, columns


@pytest.mark.parametrize("count", [0, 1, 1003])
@pytest.mark.parametrize("name", CHANNELS)
def test_chunks_and_threads_change_no_report(name, count, monkeypatch):
    block = block_of(CHANNELS[name])
    keys, columns = records_of(block, count)
    whole = Randomizer(Plan((block,)), SECRETS, "asia", threads=1).reports(keys, columns)
    monkeypatch.setattr(reports, "_TOGETHER", 64)
    for threads in (1, 2):
        parts = Randomizer(Plan((block,)), SECRETS, "asia", threads=threads)
        for _ in range(2):
            made = parts.reports(keys, columns)
            assert {n: c.tolist() for n, c in made.items()} == {
                n: c.tolist() for n, c in whole.items()
            }
    for column, size in zip(whole.values(), block.reported_shape, strict=True):
        assert len(column) == count
        assert column.dtype == (np.uint8 if size <= 256 else np.uint16)


def test_a_release_is_what_the_randomizer_reports_sorted():
    blocks = tuple(block_of(CHANNELS[name]) for name in ("symmetric",))
    keys, columns = records_of(blocks[0], 500)
    plain = Randomizer(Plan(blocks), SECRETS, "asia", 3).reports(keys, columns)
    made = randomize(Plan(blocks), SECRETS, "asia", keys, columns, 3)
    order = np.argsort(keys.view("S16"))
    assert made.keys.tobytes() == keys[order].tobytes()
    assert made.columns["v0"].tolist() == plain["v0"][order].tolist()


def test_spans_are_counted_at_every_bound():
    bounds = [0, 5, 5, 1 << 31, RESOLUTION - 1, RESOLUTION]
    words = np.array([0, 4, 5, 6, (1 << 31) - 1, 1 << 31, RESOLUTION - 1], dtype=np.uint32)
    expected = [sum(b <= w for b in bounds) for w in words.tolist()]
    assert spans_of(bounds, words).tolist() == expected
