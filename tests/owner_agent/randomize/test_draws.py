"""Draws are uniform, secret, the same for the same record, and otherwise independent."""

import hashlib
import hmac

import numpy as np
import pyarrow as pa
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st

from owner_agent.randomize.draws import draw_id, pseudonyms
from owner_agent.randomize.record_ids import normalized_ids
from owner_agent.randomize.reports import randomize
from owner_agent.state.keys import Secrets
from pramana_core.channels import Dense, Identity, Symmetric
from pramana_core.domain import Variable
from pramana_core.errors import DuplicateRecordId
from pramana_core.plan import Block, Plan
from tests.owner_agent.randomize.drawing import words

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


def test_words_of_some_records_are_the_same_in_any_order_of_asking(keys):
    whole = words(SECRETS, "asia", BLOCK, keys[:50], CODES[:50])
    rows = np.array([7, 3, 41])
    for index in (9, 0, 2, 5, 1):
        assert whole.of(rows).word(index).tolist() == whole.word(index)[rows].tolist()
        assert whole.after(3).word(index).tolist() == whole.word(index + 3).tolist()
    assert len(whole.of(rows)) == 3


def _plan():
    return Plan((BLOCK, Block((Variable("age", ("a", "b", "c")),), Symmetric(3, 1 << 30))))


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


def _normalized(text):
    return normalized_ids(pa.array([text], pa.string()))[0].as_py()


@pytest.mark.parametrize(
    "seen",
    ["７", "7\u200b", "\ufeff7", "\u20627", "7\ufe0f", " 7\t", "\u00a07", "7\u00ad", "7\x00", "⑦"],
)
def test_what_nobody_sees_makes_no_other_person(seen):
    assert _normalized(seen) == "7"
    one, other = pseudonyms(SECRETS, "asia", [seen, "7"]).tolist()
    assert one == other


@pytest.mark.parametrize("other", ["07", "7-", "7.0", "VII", "77", "7a"])
def test_what_people_see_is_another_id(other):
    one, two = pseudonyms(SECRETS, "asia", ["7", other]).tolist()
    assert one != two


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126)))
def test_ids_of_printable_ascii_stay_what_they_are(text):
    assert _normalized(text) == text.strip()


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_normalized_id_stays_what_it_is(text):
    once = _normalized(text)
    assert _normalized(once) == once
