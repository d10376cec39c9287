"""What two reports of one record tell, over all truths and all reports, by each choice.

The words of the keyed stream are replaced by all combinations of words there are, one record for
each, so that shares of records are exact probabilities; everything else is what publishing does.
"""

from __future__ import annotations

import io
import itertools
import math
from collections import Counter
from fractions import Fraction
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from owner_agent.randomize import reports as drawing
from owner_agent.randomize.draws import pseudonyms
from owner_agent.randomize.reports import randomize
from owner_agent.randomize.words import UniformWords
from owner_agent.release.corrections import ReleaseHistory, is_drawn, overlay_reported
from owner_agent.release.memory import Memory
from owner_agent.state.keys import Secrets
from pramana_core.channels import RESOLUTION, Choice, Dense, Sampled, Symmetric
from pramana_core.domain import Variable
from pramana_core.plan import Block, Plan
from pramana_core.privacy import gamma

SECRETS = Secrets(draw=bytes(range(1, 33)), linkage=bytes(range(2, 34)))
STEPS = 8
"""All probabilities are eighths: the first word of each eighth stands for all of them."""
QUARTERS = 4
"""Those of the sampled block are quarters, and so few words stand for all of them there."""


def eighths(rows):
    return Dense(tuple(tuple(x * (RESOLUTION // STEPS) for x in row) for row in rows))


BINARY = Block((Variable("status", ("no", "yes")),), eighths([[5, 3], [2, 6]]))
TERNARY = Block((Variable("stage", ("a", "b", "c")),), eighths([[5, 2, 1], [1, 6, 1], [2, 2, 4]]))
PAIR = Block(
    (Variable("status", ("no", "yes")), Variable("sex", ("f", "m"))),
    Sampled(
        (2, 2),
        tuple(
            Choice((axis,), RESOLUTION // 2, Symmetric(2, RESOLUTION // QUARTERS))
            for axis in (0, 1)
        ),
    ),
)
BLOCKS = {
    "binary": (BINARY, 1, STEPS),
    "ternary": (TERNARY, 1, STEPS),
    "sampled": (PAIR, 2, QUARTERS),
}
"""Blocks with the number of words that a report takes, and of which shares its chances are."""


class AllWords:
    """Gives every combination of two independent rows of words to one record each.

    The first row belongs to the draw of the first release; every other draw, that of another value
    or of another epoch, has the second row. Records after the combinations are bystanders.
    """

    def __init__(self, words, steps, first):
        self.table = np.array(
            list(itertools.product(range(steps), repeat=2 * words)), dtype=np.uint64
        ) * np.uint64(RESOLUTION // steps)
        self.words, self.first, self.number = words, first, {}

    @property
    def combinations(self):
        return len(self.table)

    def __call__(self, _secrets, _study, _block, epoch=0):
        return SimpleNamespace(words=partial(self.words_of, epoch))

    def words_of(self, epoch, keys, cells):
        which = np.array([self.number[bytes(key)] for key in keys]) % self.combinations
        rows = []
        for row, cell in zip(which, cells, strict=True):
            start = 0 if (epoch, int(cell)) == (0, self.first) else self.words
            rows.append(self.table[row, start : start + self.words])
        inputs = np.array(rows)

        def source(counter, given):
            assert counter == 0
            padded = np.zeros((len(given), 4), dtype=np.uint32)
            padded[:, : self.words] = given
            return padded

        return UniformWords(source, inputs)


def cells_to_columns(block, cells):
    shape = tuple(v.size for v in block.variables)
    codes = np.unravel_index(cells, shape)
    return {v.name: c.astype(np.uint8) for v, c in zip(block.variables, codes, strict=True)}


def pairs_of_reports(monkeypatch, name, truths, choice):
    """Return the law of both reports of a record that is `truths[0]`, then `truths[1]`.

    Bystanders change from cell 0 to cell 1, so that there is something to draw anew whatever the
    record itself does. `choice` None is how it was before: the same draws, and no memory.
    """
    block, words, steps = BLOCKS[name]
    every = AllWords(words, steps, truths[0])
    monkeypatch.setattr(drawing, "BlockKey", every)
    number = 2 * every.combinations
    keys = pseudonyms(SECRETS, "asia", [f"p{i}" for i in range(number)])
    every.number = {bytes(key): i for i, key in enumerate(keys)}
    plan = Plan((block,))
    memory, entries, made, beginning = Memory(), [], [], 0
    for release in (0, 1):
        cells = np.full(number, truths[release])
        cells[every.combinations :] = release
        columns = cells_to_columns(block, cells)
        if choice is None:
            randomized = randomize(plan, SECRETS, "asia", keys, columns)
        else:
            if choice == "anew" and release == 1:  # a new epoch, which remembers nothing
                memory, beginning = Memory(), 7
            past = ReleaseHistory(None, tuple(entries), memory, "asia", beginning)
            drawn = randomize(plan, SECRETS, "asia", keys, columns, beginning)
            settled = overlay_reported(drawn, past.identities(plan, SECRETS), past)
            randomized = settled.randomized
            assert is_drawn(block)
            file = io.BytesIO()
            memory.write(file, randomized.keys, settled.reports, randomized.digest)
            memory = Memory(file)
        joint = list(zip(*(randomized.columns[n].tolist() for n in block.names), strict=True))
        place = [every.number[bytes(key)] for key in randomized.keys]
        made.append(dict(zip(place, joint, strict=True)))
    law = Counter((made[0][i], made[1][i]) for i in range(every.combinations))
    return {pair: Fraction(n, every.combinations) for pair, n in law.items()}


def amplification(monkeypatch, name, choice):
    """Return the largest ratio of one pair of reports under two pairs of truths."""
    cells = range(BLOCKS[name][0].channel.shape[0])
    laws = [
        pairs_of_reports(monkeypatch, name, truths, choice)
        for truths in itertools.product(cells, repeat=2)
    ]
    worst = Fraction(1)
    for pair in set().union(*laws):
        chances = [law.get(pair, Fraction(0)) for law in laws]
        if min(chances) == 0:
            return math.inf
        worst = max(worst, max(chances) / min(chances))
    return worst


@pytest.mark.slow
@pytest.mark.parametrize("name", BLOCKS)
def test_a_kept_report_is_bounded_by_one_gamma_about_all_values(monkeypatch, name):
    found = float(amplification(monkeypatch, name, "keep"))
    assert found == gamma(BLOCKS[name][0].channel)


@pytest.mark.slow
@pytest.mark.parametrize("name", BLOCKS)
def test_draws_of_two_epochs_are_bounded_by_the_square(monkeypatch, name):
    found = float(amplification(monkeypatch, name, "anew"))
    assert found == pytest.approx(gamma(BLOCKS[name][0].channel) ** 2, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", BLOCKS)
def test_control_a_draw_of_the_corrected_value_alone_proves_the_correction(monkeypatch, name):
    """How it was: unchanged values repeat their report, so no finite number bounds two of them."""
    assert amplification(monkeypatch, name, None) == math.inf


def test_control_the_enumeration_finds_the_declared_matrix(monkeypatch):
    """Summed over the second report, the law of the first is the channel's row."""
    law = pairs_of_reports(monkeypatch, "ternary", (2, 0), None)
    for report, chance in enumerate((2, 2, 4)):
        total = sum(p for (first, _), p in law.items() if first == (report,))
        assert total == Fraction(chance, STEPS)
