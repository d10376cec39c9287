"""The noise of masked tables and private trees, drawn from keyed bytes."""

from __future__ import annotations

import hmac
import math
import random
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from scipy import special

from owner_agent.randomize.exact_noise import ExactNoise
from owner_agent.state.keys import Secrets

_PURPOSE = b"pramana/mask/1"
_WORD = 8
_BITS = 53
"""Bits of a uniform number: the precision of a float64 between 0.5 and 1."""


class KeyedRandomness:
    """Random numbers for masking. They depend only on a key, by AES-256 in counter mode."""

    def __init__(self, key: bytes):
        """Take a key of 32 bytes that is used for nothing else."""
        self._stream = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor()

    def random(self, size: Any = None) -> npt.NDArray[Any]:
        """Return independent uniform numbers in the given shape: multiples of 2^-53 in [0, 1)."""
        shape = _shape(size)
        return np.ldexp(self._units(math.prod(shape)).astype(np.float64), -_BITS).reshape(shape)

    def standard_normal(self, size: Any = None) -> npt.NDArray[Any]:
        """Return independent standard normal numbers in a shape, by inversion of 53-bit numbers."""
        shape = _shape(size)
        units = self._units(math.prod(shape))
        below = np.ldexp((units >> np.uint64(1)).astype(np.float64) + 0.5, -_BITS)
        signs = 1.0 - 2.0 * (units & np.uint64(1)).astype(np.float64)
        found: npt.NDArray[Any] = (signs * special.ndtri(below)).reshape(shape)
        return found

    def permutation(self, x: int) -> npt.NDArray[Any]:
        """Return the integers below `x` in uniformly random order."""
        words = self._words(x)
        while len(np.unique(words)) < x:  # ties (2^-64 per pair) would favour an order
            words = self._words(x)
        return np.argsort(words)

    def _units(self, count: int) -> npt.NDArray[np.uint64]:
        return self._words(count) >> np.uint64(64 - _BITS)

    def _words(self, count: int) -> npt.NDArray[np.uint64]:
        drawn = self._stream.update(bytes(_WORD * count))
        return np.frombuffer(drawn, dtype=">u8").astype(np.uint64)


def masking_randomness(secrets: Secrets, study: str, identity: str, use: int) -> KeyedRandomness:
    """Return the randomness for a masked table.

    `use` is 1 for the table's noise, and 0 for a preview that is never sent.
    """
    # Neither a study's name nor a digest contains a zero byte, so all these labels differ.
    return KeyedRandomness(
        _key(secrets.draw, b"draw", study.encode(), identity.encode(), b"%d" % use)
    )


class KeyedBits(random.Random):
    """Random bits for a private tree. They depend only on a key, by AES-256 in counter mode."""

    def __new__(cls, _key: bytes) -> Self:
        return super().__new__(cls)

    def __init__(self, key: bytes):
        """Take a key of 32 bytes that is used for nothing else."""
        self._stream = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor()

    def getrandbits(self, k: int, /) -> int:
        """Return an integer of `k` random bits; `randrange` draws from this method."""
        size = -(-k // 8)
        return int.from_bytes(self._stream.update(bytes(size)), "big") >> (8 * size - k)


def tree_noise(draw_key: bytes, identity: str) -> ExactNoise:
    """Return the noise for the private tree with the given identity (see `keyed_digest`)."""
    return ExactNoise(KeyedBits(_key(draw_key, b"tree", identity.encode())))


def keyed_digest(draw_key: bytes, *parts: bytes) -> str:
    """Return HMAC-SHA-256 of some parts by a secret key.

    Nobody without the key can test guesses of the parts.
    """
    running = hmac.new(_key(draw_key, b"digest"), digestmod="sha256")
    for part in parts:
        running.update(len(part).to_bytes(8, "big"))
        running.update(part)
    return running.hexdigest()


def _key(draw_key: bytes, *about: bytes) -> bytes:
    info = b"\x00".join([_PURPOSE, *about])
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(draw_key)


def _shape(size: Any) -> tuple[int, ...]:
    if size is None:
        return ()
    return tuple(int(n) for n in size) if np.iterable(size) else (int(size),)
