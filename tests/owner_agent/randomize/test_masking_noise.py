"""Keyed noise: distributed as it should be, the same for the same content, and otherwise others."""

import hmac
import itertools
import math
import random

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from scipy import stats

from owner_agent.randomize.exact_noise import ExactNoise
from owner_agent.randomize.noise import (
    KeyedRandomness,
    keyed_digest,
    masking_randomness,
    tree_noise,
)
from owner_agent.state.keys import Secrets
from pramana_core.model_sharing.private import choice_probabilities

SECRETS = Secrets(draw=bytes(range(1, 33)), linkage=bytes(range(2, 34)))
OTHER = Secrets(draw=bytes(range(3, 35)), linkage=bytes(range(2, 34)))
SAME_DRAW = Secrets(draw=bytes(range(1, 33)), linkage=bytes(range(5, 37)))
KEY = bytes(range(32))


def test_a_permutation_has_any_order_alike(assert_distribution):
    keyed = KeyedRandomness(KEY)
    orders = {order: place for place, order in enumerate(itertools.permutations(range(4)))}
    drawn = [tuple(keyed.permutation(4)) for _ in range(6_000)]
    seen = np.bincount([orders[one] for one in drawn], minlength=24)
    assert_distribution(seen, np.full(24, 250))
    # Numbers with ties favour the order in which they came.
    tied = np.argsort((keyed.random((6_000, 4)) * 8).astype(int), axis=1, kind="stable")
    favoured = np.bincount([orders[tuple(one)] for one in tied], minlength=24)
    with pytest.raises(AssertionError):
        assert_distribution(favoured, np.full(24, 250))
    assert sorted(keyed.permutation(1_000)) == list(range(1_000))
    assert not len(keyed.permutation(0))


def test_the_stream_is_the_documented_one():
    """AES-256 in counter mode, and of each 64 bits the highest 53, by another way to compute it."""
    encryptor = Cipher(algorithms.AES256(KEY), modes.ECB()).encryptor()
    blocks = b"".join(encryptor.update(n.to_bytes(16, "big")) for n in range(3))
    words = [int.from_bytes(blocks[i : i + 8], "big") >> 11 for i in range(0, 48, 8)]
    assert KeyedRandomness(KEY).random(6).tolist() == [word / 2**53 for word in words]
    # By symmetry from the upper half, where the last bit says the side.
    wanted = [
        (-1 if word & 1 else 1) * stats.norm.ppf(((word >> 1) + 0.5) / 2**53) for word in words
    ]
    assert np.allclose(KeyedRandomness(KEY).standard_normal(6), wanted, rtol=1e-12)


def test_the_extreme_words_give_finite_numbers(monkeypatch):
    for word in (0, 1 << 11, 2**64 - 1, 2**64 - 1 - (1 << 11)):
        keyed = KeyedRandomness(KEY)
        monkeypatch.setattr(keyed, "_words", lambda n, word=word: np.full(n, word, np.uint64))
        (found,) = keyed.standard_normal(1)
        assert np.isfinite(found)
        assert keyed.random(1)[0] < 1


def test_shapes_are_those_asked_for_and_one_row_of_numbers():
    whole = KeyedRandomness(KEY).random(12)
    keyed = KeyedRandomness(KEY)
    parts = [keyed.random((2, 3)), keyed.random(4), keyed.random(), keyed.random([1])]
    assert [part.shape for part in parts] == [(2, 3), (4,), (), (1,)]
    assert np.concatenate([part.ravel() for part in parts]).tolist() == whole.tolist()
    assert KeyedRandomness(KEY).standard_normal((5, 2)).shape == (5, 2)


def test_noise_follows_from_the_draw_key_and_what_is_masked_alone():
    def first(secrets=SECRETS, study="asia", identity="a" * 64, copy=1):
        return masking_randomness(secrets, study, identity, copy).random(4).tolist()

    assert first() == first() == first(secrets=SAME_DRAW)
    others = [
        first(secrets=OTHER), first(study="asib"), first(identity="a" * 63 + "b"), first(copy=2),
        first(copy=0), first(study="asia2", copy=1), first(study="asia", copy=21),
    ]  # fmt: skip
    assert len({tuple(one) for one in [first(), *others]}) == len(others) + 1


def test_a_digest_is_keyed_and_tells_its_parts_apart():
    key = HKDF(algorithm=SHA256(), length=32, salt=None, info=b"pramana/mask/1\x00digest").derive(
        SECRETS.draw
    )
    framed = b"".join(len(part).to_bytes(8, "big") + part for part in (b"ab", b"c"))
    assert keyed_digest(SECRETS.draw, b"ab", b"c") == hmac.digest(key, framed, "sha256").hex()
    assert keyed_digest(SECRETS.draw, b"ab", b"c") != keyed_digest(SECRETS.draw, b"a", b"bc")
    assert keyed_digest(SECRETS.draw, b"ab") != keyed_digest(OTHER.draw, b"ab")


DRAWS = 4000
SCORES = np.array([0.0, 1.0, 2.5])


@pytest.mark.parametrize("epsilon", [0.0, 0.8, 1.6])
def test_choices_are_those_of_the_exponential_mechanism(assert_distribution, epsilon):
    noise = ExactNoise(random.Random(1))
    found = np.bincount([noise.choose(SCORES, epsilon) for _ in range(DRAWS)], minlength=3)
    assert_distribution(found, DRAWS * choice_probabilities(SCORES, epsilon))
    with pytest.raises(AssertionError):
        assert_distribution(found, DRAWS * choice_probabilities(SCORES, epsilon + 0.3))
    assert noise.choose(np.array([3.0]), 1.0) == 0


@pytest.mark.parametrize("scale", [1.5, 2.0, 2.75])
@pytest.mark.parametrize("keyed", [False, True])
def test_noise_is_discrete_laplace(assert_distribution, scale, keyed):
    """From a seed, or from a key, as of a tree that leaves."""
    noise = tree_noise(bytes(range(1, 33)), "7") if keyed else ExactNoise(random.Random(2))
    drawn = np.clip([noise.laplace(scale) for _ in range(DRAWS)], -4, 4)

    def law(scale):
        q = math.exp(-1 / scale)
        inner = [(1 - q) / (1 + q) * q ** abs(x) for x in range(-3, 4)]
        tail = (1 - sum(inner)) / 2
        return DRAWS * np.array([tail, *inner, tail])

    assert_distribution(np.bincount(drawn + 4, minlength=9), law(scale))
    with pytest.raises(AssertionError):
        assert_distribution(np.bincount(drawn + 4, minlength=9), law(1.2 * scale))


def test_without_a_source_it_is_the_systems():
    assert isinstance(ExactNoise().source, random.SystemRandom)


def test_keyed_noise_is_that_of_its_key_and_tree_alone():
    """With the same noise two trees of nearly the same table would be subtracted."""

    def drawn(key, identity):
        noise = tree_noise(bytes([key]) * 32, identity)
        return [noise.laplace(50.0) for _ in range(20)]

    assert drawn(1, "a") == drawn(1, "a")
    assert drawn(1, "a") != drawn(1, "b")
    assert drawn(1, "a") != drawn(2, "a")
