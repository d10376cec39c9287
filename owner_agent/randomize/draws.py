"""Pseudonyms of records, and the draws of each record in each block.

A draw is a function of the owner's key, the study, the block, the epoch, the record, and the
record's true values in the block. Therefore the same true values are never randomized twice in
different ways (Ma 5.2.2). Draws with different arguments are independent, so their epsilons add.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable
from functools import cache

import numpy as np
import pyarrow as pa
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from owner_agent.randomize.record_ids import normalized_ids
from owner_agent.randomize.words import PER_CALL, Draws, Inputs, Source, UniformWords
from owner_agent.state.keys import Secrets, fingerprint
from pramana_core.marginals.counts import Codes
from pramana_core.plan import Block
from pramana_core.progress import Progress, unwatched
from pramana_core.wire.base import KEY_BYTES
from pramana_core.wire.parts import Pseudonyms

_BLOCK_LENGTH = 64
"""The input block of SHA-256, to which HMAC pads its key (RFC 2104)."""

_BATCH = 1 << 16


def pseudonyms(
    secrets: Secrets, study: str, record_ids: Iterable[str], progress: Progress = unwatched
) -> Pseudonyms:
    """Return HMAC-SHA-256(linkage secret, domain || study || record id), 128 bits per record.

    Because the message contains the study, releases in two studies cannot be linked.
    """
    ids: list[str] = normalized_ids(pa.array(record_ids, pa.large_string())).to_pylist()
    prefix = b"pramana/pseudonym/1\x00" + study.encode() + b"\x00"
    make = _hmac(secrets.linkage, prefix)
    made = np.empty(len(ids), dtype=f"V{KEY_BYTES}")
    for start in range(0, len(ids), _BATCH):
        end = min(start + _BATCH, len(ids))
        made[start:end] = make(ids[start:end])
        progress(end, len(ids))
    return made


def _hmac(key: bytes, prefix: bytes) -> Callable[[list[str]], Pseudonyms]:
    # This HMAC absorbs key and prefix once instead of once per record, as it takes most of the
    # time of a release. A test compares it with the standard library's.
    padded = key.ljust(_BLOCK_LENGTH, b"\x00")
    inner = hashlib.sha256(bytes(b ^ 0x36 for b in padded) + prefix)
    outer = hashlib.sha256(bytes(b ^ 0x5C for b in padded))

    def make(ids: list[str]) -> Pseudonyms:
        made = bytearray()
        for record_id in ids:
            first = inner.copy()
            first.update(record_id.encode())
            second = outer.copy()
            second.update(first.digest())
            made += second.digest()[:KEY_BYTES]
        return np.frombuffer(bytes(made), dtype=f"V{KEY_BYTES}")

    return make


def random_epoch(random_bytes: Callable[[int], bytes]) -> int:
    """Return an epoch of 63 random bits, which differs from earlier ones without listing them."""
    return int.from_bytes(random_bytes(8)) >> 1


def draw_id(secrets: Secrets, study: str, block: Block, epoch: int = 0) -> str:
    """Return the identity of a block's draws.

    Two identities are equal if and only if every record's draw is equal. The identity of an
    unrandomized block depends on the block alone.
    """
    parts = ["pramana/draw-id/2", block.digest]
    if not block.channel.is_identity:
        parts += [
            fingerprint("draw", secrets.draw),
            fingerprint("linkage", secrets.linkage),
            study,
        ]
        parts += [str(epoch)] if epoch else []
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()


class BlockKey:
    """Generates the random words of a block's records, a batch of records at a time.

    The uniform 32-bit words of a record are AES-256(block key, input), four per call; keys derived
    with a counter give further words. The input is the pseudonym with the record's true cell XORed
    into its last 64 bits, big-endian. In a block of more than 2^64 cells, the input is a MAC
    (`_absorb`) instead. AES is treated as a pseudorandom function on distinct single blocks.
    """

    def __init__(self, secrets: Secrets, study: str, block: Block, epoch: int = 0):
        about = b"\x00".join([study.encode(), block.digest.encode()])
        info = b"pramana/draw/2\x00" + about + (b"\x00epoch %d" % epoch if epoch else b"")

        @cache
        def cipher(counter: int) -> _Cipher:
            # A study's name contains no zero byte, so all these labels differ.
            return _Cipher(_key(secrets, info + (b"\x00%d" % counter if counter else b"")))

        self._source: Source = lambda counter, inputs: cipher(counter).words(inputs)
        self._mac = _Cipher(_key(secrets, b"pramana/draw-input/1\x00" + about))

    def words(self, keys: Pseudonyms, cells: Codes) -> UniformWords:
        """Return the words of records, from their pseudonyms and their cells (`true_cells`)."""
        inputs = np.array(keys, order="C").view(np.uint8).reshape(-1, KEY_BYTES)
        if cells.ndim > 1:
            _absorb(self._mac, inputs, cells)
        else:
            # Higher bytes are zero, so every integer type of the codes gives the same words.
            inputs.view(cells.dtype)[:, -1] ^= _big_endian(cells).view(cells.dtype)[:, 0]
        return UniformWords(self._source, inputs)


def _key(secrets: Secrets, info: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(secrets.draw)


def _big_endian(codes: Codes) -> Inputs:
    """Return the bytes of each record's codes in big-endian order, N x bytes."""
    turned = np.ascontiguousarray(codes.astype(codes.dtype.newbyteorder(">")))
    return turned.view(np.uint8).reshape(len(codes), math.prod(codes.shape[1:]) * codes.itemsize)


def _absorb(mac: _Cipher, inputs: Inputs, codes: Codes) -> None:
    """Replace each pseudonym by a MAC of the pseudonym and the record's codes, N x variables.

    The MAC is the AES-256 CBC-MAC of the pseudonym followed by the codes, 16 bytes at a time. All
    messages under one key have the same length, so the MAC is a pseudorandom function of them
    (Bellare, Kilian and Rogaway 2000, theorem 3.1). `inputs`, N x 16 bytes, are changed in place.
    """
    for start in range(0, len(inputs), _BATCH):
        words = _big_endian(codes[start : start + _BATCH])
        state = mac.octets(inputs[start : start + _BATCH])
        for place in range(0, words.shape[1], KEY_BYTES):
            block = words[:, place : place + KEY_BYTES]
            state[:, : block.shape[1]] ^= block
            state = mac.octets(state)
        inputs[start : start + _BATCH] = state


def coins(secrets: Secrets, study: str, coin: str, keys: Pseudonyms) -> Draws:
    """Return N coins, one per record: the first word of AES-256(coin key, pseudonym).

    The coin key is HKDF-SHA-256 of the linkage secret; `coin` is the digest of a study plan.
    """
    info = b"\x00".join([b"pramana/coin/1", study.encode(), coin.encode()])
    key = HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(secrets.linkage)
    inputs = np.ascontiguousarray(keys).view(np.uint8).reshape(-1, KEY_BYTES)
    return _Cipher(key).words(inputs)[:, 0].astype(np.uint32)


class _Cipher:
    """AES-256 of single blocks under one key. Several threads may use an instance at once."""

    def __init__(self, key: bytes):
        self._cipher = Cipher(algorithms.AES256(key), modes.ECB())  # noqa: S305 - see `BlockKey`
        # Creating an encryptor takes as long as encrypting thousands of records.
        self._idle: list[CipherContext] = []

    def words(self, inputs: Inputs) -> Draws:
        """Return the ciphertext of N x 16 bytes as N x 4 big-endian words."""
        try:
            encryptor = self._idle.pop()
        except IndexError:  # Checking first would let another thread take the last one.
            encryptor = self._cipher.encryptor()
        # A preallocated buffer: a new object of 16 bytes per record costs more than the AES.
        output = np.empty((len(inputs) + 1) * KEY_BYTES, dtype=np.uint8)
        encryptor.update_into(np.ascontiguousarray(inputs).ravel().data, output.data)
        self._idle.append(encryptor)
        return output.view(">u4")[: len(inputs) * PER_CALL].reshape(-1, PER_CALL)

    def octets(self, inputs: Inputs) -> Inputs:
        """Return the ciphertext of N x 16 bytes as N x 16 bytes."""
        return self.words(inputs).view(np.uint8).reshape(-1, KEY_BYTES)
