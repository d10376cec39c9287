"""Draws are uniform, secret, the same for the same record, and otherwise independent."""

import hashlib
import hmac

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from owner_agent.randomize.draws import draw_id, pseudonyms
from owner_agent.randomize.reports import randomize
from owner_agent.randomize.sampling import true_cells
from owner_agent.state.keys import Secrets
from pramana_core.channels import Dense, Identity, Symmetric
from pramana_core.domain import Variable
from pramana_core.errors import DuplicateRecordId
from pramana_core.plan import Block, Plan
from tests.owner_agent.randomize.drawing import sample, words

SECRETS = Secrets(draw=bytes(range(1, 33)), linkage=bytes(range(2, 34)))
OTHER = Secrets(draw=bytes(range(3, 35)), linkage=bytes(range(2, 34)))
YES_NO = Variable("answer", ("no", "yes"))
BLOCK = Block((YES_NO,), Dense.binary(0.1, 0.25))
IDS = [f"record {i}" for i in range(100_000)]


def draws(*given):
    """Return the first word of every record."""
    return words(*given).word(0)


@pytest.fixture(scope="module")
def keys():
    return pseudonyms(SECRETS, "asia", IDS)


def test_a_pseudonym_is_the_documented_hmac(keys):
    message = b"pramana/pseudonym/1\x00asia\x00record 7"
    assert bytes(keys[7]) == hmac.digest(SECRETS.linkage, message, "sha256")[:16]
    assert len(set(keys.tolist())) == len(IDS)


def test_pseudonyms_of_two_studies_cannot_be_matched(keys):
    elsewhere = pseudonyms(SECRETS, "europe", IDS[:1000])
    assert not set(elsewhere.tolist()) & set(keys.tolist())


def test_owners_that_share_the_linkage_secret_make_the_same_pseudonyms(keys):
    assert pseudonyms(OTHER, "asia", IDS[:9]).tolist() == keys[:9].tolist()


def test_progress_is_told_to_the_end():
    seen = []
    pseudonyms(SECRETS, "asia", IDS, lambda done, total: seen.append((done, total)))
    assert seen[-1] == (100_000, 100_000)
    assert len(seen) > 1


CODES = (np.arange(len(IDS)) % 2).astype(np.uint8)


def test_a_draw_is_the_head_of_aes_under_the_block_key(keys):
    info = b"\x00".join([b"pramana/draw/2", b"asia", BLOCK.digest.encode()])
    # HKDF (RFC 5869) by hand: no salt, one round of expansion.
    extracted = hmac.digest(bytes(32), SECRETS.draw, "sha256")
    key = hmac.digest(extracted, info + b"\x01", "sha256")
    encryptor = Cipher(algorithms.AES256(key), modes.ECB()).encryptor()
    pseudonym = bytes(keys[3])
    cell = 0x0102030405
    mixed = pseudonym[:8] + (int.from_bytes(pseudonym[8:], "big") ^ cell).to_bytes(8, "big")
    head = (encryptor.update(mixed) + encryptor.finalize())[:4]
    cells = np.full(len(keys), cell, np.uint64)
    before = keys.tobytes()
    assert draws(SECRETS, "asia", BLOCK, keys, cells)[3] == int.from_bytes(head, "big")
    assert keys.tobytes() == before


def test_draws_are_pinned():
    """Another version must randomize the same record in the same way: these may never change."""
    keys = pseudonyms(SECRETS, "asia", ["record 7", "record 8"])
    assert [bytes(key).hex() for key in keys] == [
        "a522c321a3e875d9fca4c647a31e5db3",
        "fffeaba88ff7c9bb654f3755d010e333",
    ]
    cells = np.array([0, 1], dtype=np.uint8)
    assert draws(SECRETS, "asia", BLOCK, keys, cells).tolist() == [1098187688, 1399126548]
    for wider in (np.uint16, np.uint32, np.uint64):
        same = draws(SECRETS, "asia", BLOCK, keys, cells.astype(wider))
        assert same.tolist() == [1098187688, 1399126548]


def _key(info):
    """HKDF (RFC 5869) by hand: no salt, one round of expansion."""
    extracted = hmac.digest(bytes(32), SECRETS.draw, "sha256")
    return hmac.digest(extracted, info + b"\x01", "sha256")


def test_further_words_are_the_rest_of_aes_and_then_of_aes_under_other_keys(keys):
    info = b"\x00".join([b"pramana/draw/2", b"asia", BLOCK.digest.encode()])
    pseudonym = bytes(keys[5])
    mixed = pseudonym[:-1] + bytes([pseudonym[-1] ^ 1])
    made = words(SECRETS, "asia", BLOCK, keys[5:6], np.array([1], np.uint8))
    for counter, suffix in enumerate([b"", b"\x001", b"\x002"]):
        encryptor = Cipher(algorithms.AES256(_key(info + suffix)), modes.ECB()).encryptor()
        output = encryptor.update(mixed) + encryptor.finalize()
        expected = [int.from_bytes(output[at : at + 4], "big") for at in range(0, 16, 4)]
        assert [int(made.word(4 * counter + i)[0]) for i in range(4)] == expected


def test_further_words_are_pinned():
    keys = pseudonyms(SECRETS, "asia", ["record 7", "record 8"])
    made = words(SECRETS, "asia", BLOCK, keys, np.array([0, 1], dtype=np.uint8))
    assert [made.word(i).tolist() for i in (1, 3, 4, 40)] == [
        [568762688, 2782865945],
        [332211457, 1333367527],
        [1496391165, 3379310407],
        [1973215717, 3771981208],
    ]


def test_words_are_independent_of_each_other(keys, assert_distribution):
    made = words(SECRETS, "asia", BLOCK, keys, CODES)
    for one, other in ((0, 1), (0, 4), (3, 4), (4, 8), (5, 6)):
        first, second = made.word(one) >> 28, made.word(other) >> 28
        joint = np.bincount(first * 16 + second, minlength=256)
        assert_distribution(joint, np.full(256, len(keys) / 256))
    # The control: a word with itself.
    same = np.bincount((made.word(0) >> 28) * 17, minlength=256)
    with pytest.raises(AssertionError, match="chi-square"):
        assert_distribution(same, np.full(256, len(keys) / 256))


def test_words_of_some_records_are_the_same_in_any_order_of_asking(keys):
    whole = words(SECRETS, "asia", BLOCK, keys[:50], CODES[:50])
    rows = np.array([7, 3, 41])
    for index in (9, 0, 2, 5, 1):
        assert whole.of(rows).word(index).tolist() == whole.word(index)[rows].tolist()
        assert whole.after(3).word(index).tolist() == whole.word(index + 3).tolist()
    assert len(whole.of(rows)) == 3


def test_draws_are_uniform(keys, assert_distribution):
    made = draws(SECRETS, "asia", BLOCK, keys, CODES)
    for shift in (24, 0):
        cells = np.bincount((made >> shift) & 255, minlength=256)
        assert_distribution(cells, np.full(256, len(keys) / 256))


@pytest.mark.parametrize(
    "other",
    [
        lambda keys: draws(OTHER, "asia", BLOCK, keys, CODES),
        lambda keys: draws(SECRETS, "europe", BLOCK, keys, CODES),
        lambda keys: draws(SECRETS, "asia", Block((YES_NO,), Dense.binary(0.1, 0.26)), keys, CODES),
        lambda keys: draws(
            SECRETS, "asia", Block((Variable("other", ("no", "yes")),), BLOCK.channel), keys, CODES
        ),
        lambda keys: draws(SECRETS, "asia", BLOCK, keys, 1 - CODES),
    ],
    ids=["key", "study", "channel", "variable", "value"],
)
def test_another_key_study_channel_variable_or_value_draws_independently(
    keys, assert_distribution, other
):
    first, second = draws(SECRETS, "asia", BLOCK, keys, CODES) >> 28, other(keys) >> 28
    joint = np.bincount(first * 16 + second, minlength=256)
    assert_distribution(joint, np.full(256, len(keys) / 256))


@pytest.mark.parametrize(
    "channel",
    [
        Symmetric.from_probability(5, 0.3),
        Dense.ternary(0.1, 0.25),
        Dense.from_probabilities([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.05, 0.05, 0.9]]),
    ],
    ids=["symmetric", "ternary", "matrix"],
)
def test_reports_follow_the_published_matrix(keys, assert_distribution, channel):
    size = channel.shape[0]
    block = Block((Variable("v", tuple("abcdefg"[:size])),), channel)
    codes = (np.arange(len(keys)) % size).astype(np.uint8)
    reported = sample(channel, codes, words(SECRETS, "asia", block, keys, codes))
    joint = np.bincount(codes.astype(int) * size + reported, minlength=size * size)
    expected = np.bincount(codes)[:, None] * channel.matrix()
    assert_distribution(joint, expected)
    # The control: a matrix that is off by two hundredths must be told apart at this size.
    wrong = channel.matrix() @ (0.98 * np.eye(size) + 0.02 * np.roll(np.eye(size), 1, axis=1))
    with pytest.raises(AssertionError, match="chi-square"):
        assert_distribution(joint, np.bincount(codes)[:, None] * wrong)


def _plan():
    return Plan((BLOCK, Block((Variable("age", ("a", "b", "c")),), Symmetric(3, 1 << 30))))


def _reports(order, count=3_000):
    ids = [IDS[i] for i in order]
    columns = {
        "answer": np.array([i % 2 for i in order], np.uint8),
        "age": np.array([i % 3 for i in order], np.uint8),
    }
    made = randomize(_plan(), SECRETS, "asia", pseudonyms(SECRETS, "asia", ids), columns)
    return {
        bytes(key): (int(a), int(b))
        for key, a, b in zip(made.keys, made.columns["answer"], made.columns["age"], strict=True)
    }, made


def test_a_record_is_always_randomized_the_same_way():
    forward, first = _reports(range(2_000))
    backward, second = _reports(range(1_999, -1, -1))
    assert first.keys.tobytes() == second.keys.tobytes()
    assert forward == backward
    grown, _ = _reports([*range(2_500, 3_000), *range(2_000)])
    assert {key: grown[key] for key in forward} == forward


def test_reports_travel_sorted_by_pseudonym():
    _, made = _reports(range(500))
    raw = [bytes(key) for key in made.keys]
    assert raw == sorted(raw)


def test_two_records_with_one_pseudonym_are_refused(keys):
    twice = np.concatenate([keys[:3], keys[:1]])
    columns = {"answer": np.zeros(4, np.uint8), "age": np.zeros(4, np.uint8)}
    with pytest.raises(DuplicateRecordId):
        randomize(_plan(), SECRETS, "asia", twice, columns)


def test_a_draw_id_changes_with_all_that_changes_a_draw():
    sensitive = {
        draw_id(SECRETS, "asia", BLOCK),
        draw_id(OTHER, "asia", BLOCK),
        draw_id(SECRETS, "europe", BLOCK),
        draw_id(SECRETS, "asia", Block((YES_NO,), Dense.binary(0.1, 0.26))),
    }
    assert len(sensitive) == 4
    public = Block((YES_NO,), Identity(2))
    assert draw_id(SECRETS, "asia", public) == draw_id(OTHER, "europe", public)
    known = hashlib.sha256(SECRETS.draw).hexdigest()
    assert known[:16] not in sensitive


def _corrections(size):
    """Return every pair of an old and another new value, as two arrays."""
    pairs = [(a, b) for a in range(size) for b in range(size) if a != b]
    return (np.array(values, np.uint8) for values in zip(*pairs, strict=True))


JOINT = (Variable("answer", ("no", "yes")), Variable("age", ("a", "b")))


@pytest.mark.parametrize(
    "block",
    [
        BLOCK,
        Block((Variable("age", ("a", "b", "c")),), Dense.ternary(0.1, 0.25)),
        Block(JOINT, Symmetric.from_gamma(4, 5.0)),
    ],
    ids=["binary", "ternary", "joint"],
)
def test_a_correction_costs_no_more_than_another_epsilon(keys, assert_distribution, block):
    """Old and new report together follow the product of their rows, so amplifications multiply."""
    size = block.channel.shape[0]
    old, new = _corrections(size)
    pair = np.arange(len(keys)) % len(old)
    true = [
        true_cells(block, columns)
        for columns in (_columns(block, old[pair]), _columns(block, new[pair]))
    ]
    made = [words(SECRETS, "asia", block, keys, cells) for cells in true]
    rows = block.channel.matrix()
    expected = np.bincount(pair)[:, None] * np.array(
        [np.outer(rows[a], rows[b]).ravel() for a, b in zip(old, new, strict=True)]
    )

    def joint(first, second):
        reports = [sample(block.channel, c, d) for c, d in zip(true, (first, second), strict=True)]
        cells = (pair * size + reports[0]) * size + reports[1]
        return np.bincount(cells, minlength=expected.size)

    assert_distribution(joint(*made), expected.ravel())
    # The control: one draw for both values, whose joint amplification has no bound.
    with pytest.raises(AssertionError, match="chi-square"):
        assert_distribution(joint(made[0], made[0]), expected.ravel())


def _columns(block, cells):
    shape = tuple(v.size for v in block.variables)
    axes = np.unravel_index(cells, shape)
    return {n: a.astype(np.uint8) for n, a in zip(block.names, axes, strict=True)}


def test_a_value_that_is_set_back_is_reported_as_at_first(keys):
    changed = CODES.copy()
    changed[::3] ^= 1
    first = draws(SECRETS, "asia", BLOCK, keys, CODES)
    second = draws(SECRETS, "asia", BLOCK, keys, changed)
    kept = changed == CODES
    assert np.array_equal(first[kept], second[kept])
    assert not np.any(first[~kept][:1000] == second[~kept][:1000])
    assert np.array_equal(draws(SECRETS, "asia", BLOCK, keys, CODES.astype(np.uint64)), first)
