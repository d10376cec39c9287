"""Pseudonyms of records, and the draws each record has in each block.

Draws are a pure function of the owner's key, the study, the block, its epoch, the record and what
is true of the record in the block. So publishing again, in any row order and with any other rows,
repeats it: the same truth of a record is never randomized twice in different ways (Ma 5.2.2).

Wherever something else is randomized, the draws are others. If two channels shared a draw, the two
reports together could rule out what each alone leaves possible, and their joint amplification
would be unbounded. With independent draws epsilons add, and the ledger adds them up.

Draws alone do not protect a record whose value is corrected. Unchanged values repeat their draw, so
of a record with two different reports everybody would know that it changed. What is done about
that is in `owner_agent.release.corrections`: either the record keeps the report that it was given
first, or all records are drawn anew, independently, in another epoch.

In a study plan the owners' draws are their own, and which variables a record reports is no draw of
theirs: it follows a coin, a function of the linkage secret that they share, the study, the plan and
the pseudonym alone. It looks at no data, it is the same at all owners and in all epochs, and other
draws cannot be inferred from it.

Also here:

* Uniform 32-bit words, as many as a record needs, and exactly uniform numbers made of them.
* OpenDP, an optional extra: noise with exact arithmetic, from the operating system's generator.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from owner_agent.randomize.record_ids import normalized_ids
from owner_agent.state.keys import Secrets, fingerprint
from pramana_core.channels import RESOLUTION
from pramana_core.errors import NotInstalled
from pramana_core.marginals.counts import Codes
from pramana_core.plan import Block
from pramana_core.progress import Progress, unwatched
from pramana_core.wire.base import KEY_BYTES
from pramana_core.wire.parts import Pseudonyms

# Uniform 32-bit words, as many as a record needs, and exactly uniform numbers made of them.
#
# A 32-bit word is exactly uniform below n only where n divides 2^32. Elsewhere the words from the
# largest multiple of n on are rejected and the record's next word is tried. A record's words depend
# on nothing but the record, so what is drawn for it does not depend on the records beside it.

Draws = npt.NDArray[np.uint32]
Inputs = npt.NDArray[Any]

PER_CALL = 4
"""How many words a source makes of an input at once: one block of AES."""

Source = Callable[[int, Inputs], npt.NDArray[np.uint32]]
"""`(counter, inputs)` gives words `4 counter` to `4 counter + 3` of each input, N x 4."""


class UniformWords:
    """An endless row of uniform words for each of N records.

    Words are made when they are asked for; the last four of each record are held, so asking in
    ascending order makes each once.
    """

    def __init__(
        self,
        source: Source,
        inputs: Inputs,
        *,
        rows: npt.NDArray[np.intp] | None = None,
        first: int = 0,
        held: tuple[int, npt.NDArray[np.uint32]] | None = None,
    ):
        """Take a source of words and the inputs (any array with a row per record).

        What `rows` leaves out of the inputs and of the held words is no record of these.
        """
        self._source = source
        self._inputs = inputs
        self._rows = rows
        self._first = first
        self._held = held

    def __len__(self) -> int:
        """Return N, the number of records."""
        return len(self._inputs if self._rows is None else self._rows)

    def word(self, index: int) -> Draws:
        """Return word `index` of every record: N uniform integers below 2^32, a copy."""
        counter, place = divmod(self._first + index, PER_CALL)
        if self._held is None or self._held[0] != counter:
            if self._rows is not None:
                self._inputs, self._rows = self._inputs[self._rows], None
            self._held = counter, self._source(counter, self._inputs)
        words = self._held[1][:, place]
        return (words if self._rows is None else words[self._rows]).astype(np.uint32)

    def of(self, rows: npt.NDArray[np.intp]) -> UniformWords:
        """Return the words of some of the records, in the order of `rows`."""
        among = rows if self._rows is None else self._rows[rows]
        return self._from(self._first, among)

    def after(self, count: int) -> UniformWords:
        """Return the words that follow the first `count` of every record."""
        return self._from(self._first + count, self._rows)

    def _from(self, first: int, rows: npt.NDArray[np.intp] | None) -> UniformWords:
        return UniformWords(self._source, self._inputs, rows=rows, first=first, held=self._held)

    def dealt(self, hands: int) -> tuple[UniformWords, ...]:
        """Return endless rows that share no word: of every record each takes every `hands`-th."""

        def hand(place: int) -> UniformWords:
            def source(counter: int, inputs: Inputs) -> Draws:
                whole = UniformWords(self._source, inputs, first=self._first + place)
                indices = range(PER_CALL * counter, PER_CALL * (counter + 1))
                return np.stack([whole.word(hands * index) for index in indices], axis=1)

            return UniformWords(source, self._inputs, rows=self._rows)

        return tuple(hand(place) for place in range(hands))


def words_below(n: int) -> int:
    """Return how many words one attempt at a number below `n` takes: one up to 2^32, else two."""
    return 1 if n <= RESOLUTION else 2


def uniform_below(words: UniformWords, n: int, index: int, stride: int) -> Codes:
    """Return an exactly uniform integer below `n` for each record, by rejection.

    Args:
        words: the records' words.
        n: from 1 to 2^63.
        index: the word of the first attempt; with n above 2^32 this and the next.
        stride: how many words on the next attempt is. To keep numbers independent, whoever draws
            several gives each a first word of its own, all below the common stride.

    Returns:
        N integers, uint64.
    """
    attempt = words_below(n)
    value = words.word(index).astype(np.uint64)
    if attempt == 2:
        value = value << np.uint64(32) | words.word(index + 1)
    last = RESOLUTION**attempt // n * n - 1
    number: Codes = value % np.uint64(n)
    rejected = np.flatnonzero(value > np.uint64(last))
    if len(rejected):
        number[rejected] = uniform_below(words.of(rejected), n, index + stride, stride)
    return number


def uniform_columns(words: UniformWords, sizes: Sequence[int]) -> list[Codes]:
    """Return, for each size, an exactly uniform integer below it for each record; independent."""
    *starts, stride = itertools.accumulate(map(words_below, sizes), initial=0)
    return [uniform_below(words, n, at, stride) for n, at in zip(sizes, starts, strict=True)]


def below(draws: Draws, units: int) -> npt.NDArray[np.bool_]:
    """Return where a word falls below `units`, which has probability `units` / 2^32 exactly."""
    return draws.astype(np.uint64) < np.uint64(units)


_BLOCK_LENGTH = 64
"""The input block of SHA-256, to which HMAC pads its key (RFC 2104)."""

_BATCH = 1 << 16


def pseudonyms(
    secrets: Secrets, study: str, record_ids: Iterable[str], progress: Progress = unwatched
) -> Pseudonyms:
    """Return HMAC-SHA-256(linkage secret, domain || study || record id), 128 bits each.

    The study is part of the message: whoever has the releases of two studies cannot tell which
    records are the same.

    Args:
        secrets: the owner's secrets.
        study: the study the pseudonyms are for.
        record_ids: ids as text; what people cannot see of them does not matter.
        progress: told how many are done, now and then.
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
    # HMAC written out so that key and prefix are absorbed once and not for every record: this is
    # most of the time a release takes. A test compares it with the standard library's.
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
    """Return an epoch that nobody has drawn in: 63 random bits, so that none need be remembered."""
    return int.from_bytes(random_bytes(8)) >> 1


def draw_id(secrets: Secrets, study: str, block: Block, epoch: int = 0) -> str:
    """Return the identity of a block's draws: equal exactly if every record's draw is.

    Unrandomized blocks draw nothing: theirs depends on the block alone. The same people under
    other record ids are other records; what they are known by is
    `owner_agent.release.composition.population_of`.

    Args:
        secrets: the owner's secrets.
        study: the study the draws are for.
        block: the block.
        epoch: 0, or the number of the epoch in which all records of the block were drawn anew.
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
    """What makes the words of a block's records, for some records at a time.

    A record's uniform 32-bit words are AES-256(block key, input), four at a time. The input is the
    pseudonym with the record's true cell in the block XORed into its last 64 bits, as a big-endian
    integer. The same value thus repeats its draw, and a changed value draws independently: with one
    draw for both, two reports of a corrected record could give both of its values away. (That it
    was corrected they would tell all the same: see `owner_agent.release.corrections`.)

    The first four words are the output, from its head, under the block's key; the next four the
    output under another key, derived in the same way with a counter, and so on: the inputs are as
    distinct under each key.

    Of a block with more than 2^64 cells a record has no cell, but a code of each variable: then the
    input is a MAC of the pseudonym and all the codes (`_absorb`), 128 bits, under a key of its
    own. Two inputs are the same with a probability of 2^-128 or so: two records would then have
    the same words, and a corrected record would repeat its own, which nobody could tell from
    chance. Given that this does not happen, every truth of every record has words of its own.

    AES serves as a pseudorandom function on distinct single blocks, not to encrypt a message:
    pseudonyms are 128 bits of a MAC, so that inputs of different records stay distinct too, and
    the patterns for which ECB is known cannot arise.

    Args:
        secrets: the owner's secrets.
        study: the study the release is for.
        block: the block.
        epoch: as in `draw_id`; each epoch has its own key.
    """

    def __init__(self, secrets: Secrets, study: str, block: Block, epoch: int = 0):
        about = b"\x00".join([study.encode(), block.digest.encode()])
        info = b"pramana/draw/2\x00" + about + (b"\x00epoch %d" % epoch if epoch else b"")

        @cache
        def cipher(counter: int) -> _Cipher:
            # A study's name holds no zero byte, so that no two of these are the same.
            return _Cipher(_key(secrets, info + (b"\x00%d" % counter if counter else b"")))

        self._source: Source = lambda counter, inputs: cipher(counter).words(inputs)
        self._mac = _Cipher(_key(secrets, b"pramana/draw-input/1\x00" + about))

    def words(self, keys: Pseudonyms, cells: Codes) -> UniformWords:
        """Return the words of records.

        Args:
            keys: the records' pseudonyms.
            cells: what is true of the records in the block (see `sampling.true_cells`).
        """
        inputs = np.array(keys, order="C").view(np.uint8).reshape(-1, KEY_BYTES)
        if cells.ndim > 1:
            _absorb(self._mac, inputs, cells)
        else:
            # The bytes above are zero: any type of code gives the same.
            inputs.view(cells.dtype)[:, -1] ^= _big_endian(cells).view(cells.dtype)[:, 0]
        return UniformWords(self._source, inputs)


def _key(secrets: Secrets, info: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(secrets.draw)


def _big_endian(codes: Codes) -> Inputs:
    """Return the bytes of each record's codes, N x bytes, the highest of a code first."""
    turned = np.ascontiguousarray(codes.astype(codes.dtype.newbyteorder(">")))
    return turned.view(np.uint8).reshape(len(codes), math.prod(codes.shape[1:]) * codes.itemsize)


def _absorb(mac: _Cipher, inputs: Inputs, codes: Codes) -> None:
    """Put a MAC of each pseudonym and the record's codes in the pseudonym's place.

    It is the CBC-MAC by AES-256 of the pseudonym and, 16 bytes at a time, the codes. All messages
    under one key have the same length, for the key is the block's, so that it is a pseudorandom
    function of them (Bellare, Kilian and Rogaway 2000, theorem 3.1).

    Args:
        mac: under the block's key for this.
        inputs: N x 16 bytes, changed in place.
        codes: N x variables.
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
    """Return the records' coins: the first word of AES-256(coin key, pseudonym), N numbers.

    The coin key is HKDF-SHA-256 of the linkage secret, so that all owners of a study draw alike and
    nobody else can tell a record's choice from its pseudonym.

    Args:
        secrets: the owner's secrets; the linkage secret alone is used.
        study: the study the release is for.
        coin: the coin's name, the digest of a study plan.
        keys: the records' pseudonyms.
    """
    info = b"\x00".join([b"pramana/coin/1", study.encode(), coin.encode()])
    key = HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(secrets.linkage)
    inputs = np.ascontiguousarray(keys).view(np.uint8).reshape(-1, KEY_BYTES)
    return _Cipher(key).words(inputs)[:, 0].astype(np.uint32)


class _Cipher:
    """AES-256 of single blocks under one key, from as many threads as call it."""

    def __init__(self, key: bytes):
        self._cipher = Cipher(algorithms.AES256(key), modes.ECB())  # noqa: S305 - see `BlockKey`
        # To make an encryptor takes as long as to encrypt thousands of records.
        self._idle: list[CipherContext] = []

    def words(self, inputs: Inputs) -> Draws:
        """Return what N x 16 bytes are encrypted to, as N x 4 big-endian words."""
        try:
            encryptor = self._idle.pop()
        except IndexError:  # Looked at first, another thread might take the last one meanwhile.
            encryptor = self._cipher.encryptor()
        # Into a buffer of our own: returning 16 bytes a record as a new object costs several times
        # what AES does.
        output = np.empty((len(inputs) + 1) * KEY_BYTES, dtype=np.uint8)
        encryptor.update_into(np.ascontiguousarray(inputs).ravel().data, output.data)
        self._idle.append(encryptor)
        return output.view(">u4")[: len(inputs) * PER_CALL].reshape(-1, PER_CALL)

    def octets(self, inputs: Inputs) -> Inputs:
        """Return the same as N x 16 bytes."""
        return self.words(inputs).view(np.uint8).reshape(-1, KEY_BYTES)


# OpenDP, an optional extra: noise with exact arithmetic, from the operating system's generator.


def library(what: str) -> ModuleType:
    """Return OpenDP, imported when it is first asked for.

    Args:
        what: what is drawn by it, as a message begins: "Noise on shared counts is".

    Raises:
        NotInstalled: it is not installed.
    """
    try:
        import opendp.prelude as found
    except ImportError:
        raise NotInstalled(
            f"{what} drawn by OpenDP, which is not installed here.",
            where="noise",
            remedy="Install the extra: pip install 'pramana[noise]'.",
        ) from None
    found.enable_features("contrib")
    return found
