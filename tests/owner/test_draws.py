"""Draws are uniform, secret, the same for the same record, and otherwise independent."""

import hashlib
import hmac

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from owner_agent.draws import draw_id, draws, pseudonyms
from owner_agent.keys import Keys
from owner_agent.randomize import randomize
from owner_agent.sampling import sample
from shared.domain import Variable
from shared.errors import DuplicateRecordId
from shared.plan import Block, Plan
from shared.transition import Dense, Identity, Symmetric

SECRETS = Keys(draw=bytes(range(1, 33)), linkage=bytes(range(2, 34)))
OTHER = Keys(draw=bytes(range(3, 35)), linkage=bytes(range(2, 34)))
YES_NO = Variable("answer", ("no", "yes"))
BLOCK = Block((YES_NO,), Dense.binary(0.1, 0.25))
IDS = [f"record {i}" for i in range(100_000)]


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


def test_a_draw_is_the_head_of_aes_under_the_block_key(keys):
    info = b"\x00".join([b"pramana/draw/1", b"asia", BLOCK.digest.encode()])
    # HKDF (RFC 5869) by hand: no salt, one round of expansion.
    extracted = hmac.digest(bytes(32), SECRETS.draw, "sha256")
    key = hmac.digest(extracted, info + b"\x01", "sha256")
    encryptor = Cipher(algorithms.AES256(key), modes.ECB()).encryptor()
    head = (encryptor.update(bytes(keys[3])) + encryptor.finalize())[:4]
    assert draws(SECRETS, "asia", BLOCK, keys)[3] == int.from_bytes(head, "big")


def test_draws_are_uniform(keys, assert_distribution):
    made = draws(SECRETS, "asia", BLOCK, keys)
    for shift in (24, 0):
        cells = np.bincount((made >> shift) & 255, minlength=256)
        assert_distribution(cells, np.full(256, len(keys) / 256))


@pytest.mark.parametrize(
    "other",
    [
        lambda keys: draws(OTHER, "asia", BLOCK, keys),
        lambda keys: draws(SECRETS, "europe", BLOCK, keys),
        lambda keys: draws(SECRETS, "asia", Block((YES_NO,), Dense.binary(0.1, 0.26)), keys),
        lambda keys: draws(
            SECRETS, "asia", Block((Variable("other", ("no", "yes")),), BLOCK.channel), keys
        ),
    ],
    ids=["key", "study", "channel", "variable"],
)
def test_another_key_study_channel_or_variable_draws_independently(
    keys, assert_distribution, other
):
    first, second = draws(SECRETS, "asia", BLOCK, keys) >> 28, other(keys) >> 28
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
    reported = sample(channel, codes, draws(SECRETS, "asia", block, keys))
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
