"""A study plan's coin and draws: one choice at all owners, draws of each owner's own, for ever."""

import hmac
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from owner_agent.randomize.choices import Coin
from owner_agent.randomize.draws import coins, draw_id, pseudonyms
from owner_agent.randomize.reports import randomize
from owner_agent.randomize.words import PER_CALL, UniformWords
from owner_agent.state.keys import Secrets
from pramana_core.channels import RESOLUTION, Symmetric
from pramana_core.domain import Variable
from pramana_core.plan import Plan
from pramana_core.study_plan import StudyPart, StudyPlan, StudySet
from tests.owner_agent.randomize.drawing import sample_columns

SHARED = bytes(range(2, 34))
NORTH = Secrets(draw=bytes(range(1, 33)), linkage=SHARED)
SOUTH = Secrets(draw=bytes(range(3, 35)), linkage=SHARED)
STRANGER = Secrets(draw=bytes(range(3, 35)), linkage=bytes(range(4, 36)))
SEX = Variable("sex", ("f", "m"))
WORK = Variable("work", ("none", "part", "full"))
ILL = Variable("ill", ("no", "yes"))
RECORDS = 60_000
EPSILON = math.log(4.0)


def study_plan(first=1 << 30):
    """Return a plan in which a record reports its pair at north, or a variable at each, or none."""
    share = math.exp(EPSILON / 2)
    return StudyPlan(
        (("north", (SEX, WORK)), ("south", (ILL,))),
        (
            StudySet(first, (StudyPart(0, (0, 1), Symmetric.from_gamma(6, 4.0)),)),
            StudySet(
                1 << 30,
                (
                    StudyPart(0, (1,), Symmetric.from_gamma(3, share)),
                    StudyPart(1, (0,), Symmetric.from_gamma(2, share)),
                ),
            ),
            StudySet(1 << 30, (StudyPart(1, (0,), Symmetric.from_gamma(2, 4.0)),)),
        ),
    )


PLAN = study_plan()
NORTHERN, SOUTHERN = PLAN.block("north"), PLAN.block("south")


@pytest.fixture(scope="module")
def keys():
    return pseudonyms(NORTH, "asia", [f"record {i}" for i in range(RECORDS)])


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    return {v.name: rng.integers(0, v.size, RECORDS).astype(np.uint8) for v in (SEX, WORK, ILL)}


def reported(secrets, block, keys, table, **given):
    made = randomize(Plan((block,)), secrets, "asia", keys, table, **given)
    return made.keys.tolist(), made.columns


def held(block, columns):
    """Return which variables every record reports."""
    return np.stack([columns[v.name] < v.size for v in block.variables], axis=1)


# The coin ----------------------------------------------------------------------------------------


def test_a_coin_is_the_head_of_aes_under_a_key_of_the_linkage_secret(keys):
    info = b"\x00".join([b"pramana/coin/1", b"asia", PLAN.digest.encode()])
    extracted = hmac.digest(bytes(32), SHARED, "sha256")
    key = hmac.digest(extracted, info + b"\x01", "sha256")
    encryptor = Cipher(algorithms.AES256(key), modes.ECB()).encryptor()
    head = (encryptor.update(bytes(keys[7])) + encryptor.finalize())[:4]
    assert coins(NORTH, "asia", PLAN.digest, keys)[7] == int.from_bytes(head, "big")


def test_coins_are_those_of_the_secret_the_study_and_the_plan_and_of_nothing_else(keys):
    here = coins(NORTH, "asia", PLAN.digest, keys)
    assert coins(SOUTH, "asia", PLAN.digest, keys).tolist() == here.tolist()
    assert coins(NORTH, "asia", PLAN.digest, keys[::-1]).tolist() == here[::-1].tolist()
    for other in (
        coins(STRANGER, "asia", PLAN.digest, keys),
        coins(NORTH, "europe", PLAN.digest, keys),
        coins(NORTH, "asia", study_plan((1 << 30) - 1).digest, keys),
    ):
        # Of independent coins at most a few of 60,000 are equal (expected 1.4e-5).
        assert (other == here).sum() <= 2


def test_a_choice_has_exactly_its_part_of_the_coin():
    north, south = NORTHERN.channel, SOUTHERN.channel
    quarter = 1 << 30
    edges = np.array([0, quarter - 1, quarter, 2 * quarter - 1, 2 * quarter, 3 * quarter - 1,
                      3 * quarter, RESOLUTION - 1], dtype=np.uint32)  # fmt: skip
    assert Coin(north).choices(edges).tolist() == [0, 0, 1, 1, 2, 2, 2, 2]
    assert Coin(south).choices(edges).tolist() == [2, 2, 0, 0, 1, 1, 2, 2]


# The mechanism -----------------------------------------------------------------------------------


def enumerated(part, truth, coin, words):
    """Return the reports of a truth for given coins and next words, as codes of the part."""
    rows = np.zeros((len(coin), PER_CALL), dtype=np.uint32)
    rows[:, 0], rows[:, 1] = coin, words

    def source(counter, inputs):
        assert counter == 0
        return rows[inputs]

    cells = np.full(len(rows), truth, dtype=np.uint64)
    drawn = UniformWords(source, np.arange(len(rows)))
    made = sample_columns(part, part.sizes, cells, drawn)
    shape = part.report_sizes(part.sizes)
    return np.ravel_multi_index([c.astype(int) for c in made], shape)


def laws(part, truth):
    """Return for each interval of the coin of both owners the exact law of a part's report."""
    quarters = [(i << 30, (i + 1 << 30) - 1) for i in range(4)]
    bounds = sorted(
        {0, RESOLUTION}
        | {
            b
            for choice in part.choices
            for row in choice.channel.units()
            for b in np.cumsum(row).tolist()
        }
    )
    ends = [(word, Fraction(high - low, 2 * RESOLUTION))
            for low, high in itertools.pairwise(bounds) for word in (low, high - 1)]  # fmt: skip
    found = []
    for low, high in quarters:
        law = [Fraction(0)] * part.shape[1]
        for coin in (low, high):
            made = enumerated(part, truth, [coin] * len(ends), [w for w, _ in ends])
            for report, (_, chance) in zip(made.tolist(), ends, strict=True):
                law[report] += chance / 2
        assert sum(law) == 1
        found.append(law)
    return found


def laws_of_both():
    """Return the exact law of both owners' reports for every truth of the three variables."""
    north = [laws(NORTHERN.channel, t) for t in range(6)]
    south = [laws(SOUTHERN.channel, t) for t in range(2)]
    pairs = [(i, i) for i in range(4)]
    rows = []
    for a, b in itertools.product(range(6), range(2)):
        row = sum(
            np.multiply.outer(
                np.array(north[a][i], dtype=object), np.array(south[b][j], dtype=object)
            ).ravel()
            for i, j in pairs
        )
        rows.append(row / len(pairs))
    return np.array(rows)


def test_what_the_owners_draw_is_the_channel_that_the_miner_estimates_with():
    rows = laws_of_both()
    declared = PLAN.together.blocks[0].channel.matrix()
    assert np.allclose(rows.astype(float), declared, rtol=1e-12, atol=1e-15)


@pytest.mark.slow
def test_draws_are_of_the_owners_own_key(keys, table):
    """Who shares the linkage secret knows what is chosen, and nothing of what is drawn."""
    _, mine = reported(NORTH, NORTHERN, keys, table)
    _, theirs = reported(SOUTH, NORTHERN, keys, table)
    chosen = held(NORTHERN, mine)
    assert chosen.tolist() == held(NORTHERN, theirs).tolist()
    differing = mine["work"] != theirs["work"]
    # Two independent reports of work agree in at most 6 of 10.
    assert differing[chosen[:, 1]].mean() > 0.3
    assert draw_id(NORTH, "asia", NORTHERN) != draw_id(SOUTH, "asia", NORTHERN)


# Permanence --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_only_a_correction_of_what_is_reported_draws_anew(keys, table):
    _, before = reported(NORTH, NORTHERN, keys, table)
    chosen = held(NORTHERN, before)
    corrected = dict(table, sex=1 - table["sex"])
    _, after = reported(NORTH, NORTHERN, keys, corrected)
    assert held(NORTHERN, after).tolist() == chosen.tolist()
    pair, single = chosen[:, 0], chosen[:, 1] & ~chosen[:, 0]
    assert after["work"][single].tolist() == before["work"][single].tolist()
    # The pair is drawn independently, also the part of it that was not corrected.
    assert (after["work"][pair] != before["work"][pair]).mean() > 0.3


@pytest.mark.slow
def test_a_fresh_epoch_draws_anew_within_the_same_choice(keys, table):
    _, first = reported(NORTH, NORTHERN, keys, table)
    _, second = reported(NORTH, NORTHERN, keys, table, epoch=1)
    assert held(NORTHERN, first).tolist() == held(NORTHERN, second).tolist()
    assert first["work"].tolist() != second["work"].tolist()
