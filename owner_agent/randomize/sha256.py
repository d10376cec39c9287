"""HMAC-SHA-256 of many short messages at once, compiled: importing this loads numba.

The standard library needs two microseconds a message for Python's calls alone, under the
interpreter's lock. Here several messages are hashed side by side, one in each lane of the
processor's registers: all values below are rows of as many 32-bit words (FIPS 180-4, sections 4 to
6). Tests compare the bytes with the standard library's.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pramana_core.kernels.compiled import compiled

LANES = 16
"""So many messages are hashed side by side."""

_BLOCK = 64
"""The bytes of a block."""

_Word, _At = np.uint32, np.uint64
Words = npt.NDArray[np.uint32]
Octets = npt.NDArray[np.uint8]

# The first 32 bits of the fractions of the roots of the first primes: cube roots, and square roots.
_ROUNDS = np.array([
    0x428A2F98, 0x71374491, 0xB5C0FBCF, 0xE9B5DBA5, 0x3956C25B, 0x59F111F1, 0x923F82A4, 0xAB1C5ED5,
    0xD807AA98, 0x12835B01, 0x243185BE, 0x550C7DC3, 0x72BE5D74, 0x80DEB1FE, 0x9BDC06A7, 0xC19BF174,
    0xE49B69C1, 0xEFBE4786, 0x0FC19DC6, 0x240CA1CC, 0x2DE92C6F, 0x4A7484AA, 0x5CB0A9DC, 0x76F988DA,
    0x983E5152, 0xA831C66D, 0xB00327C8, 0xBF597FC7, 0xC6E00BF3, 0xD5A79147, 0x06CA6351, 0x14292967,
    0x27B70A85, 0x2E1B2138, 0x4D2C6DFC, 0x53380D13, 0x650A7354, 0x766A0ABB, 0x81C2C92E, 0x92722C85,
    0xA2BFE8A1, 0xA81A664B, 0xC24B8B70, 0xC76C51A3, 0xD192E819, 0xD6990624, 0xF40E3585, 0x106AA070,
    0x19A4C116, 0x1E376C08, 0x2748774C, 0x34B0BCB5, 0x391C0CB3, 0x4ED8AA4A, 0x5B9CCA4F, 0x682E6FF3,
    0x748F82EE, 0x78A5636F, 0x84C87814, 0x8CC70208, 0x90BEFFFA, 0xA4506CEB, 0xBEF9A3F7, 0xC67178F2,
], dtype=np.uint32)  # fmt: skip
_START = np.array([
    0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19,
], dtype=np.uint32)  # fmt: skip


class Hmac:
    """HMAC-SHA-256 under one key, of messages that begin alike.

    Args:
        key: at most 64 bytes.
        prefix: what all messages begin with.
    """

    def __init__(self, key: bytes, prefix: bytes):
        padded = np.frombuffer(key.ljust(_BLOCK, b"\x00"), dtype=np.uint8)
        whole = len(prefix) // _BLOCK * _BLOCK
        self._inner = _absorbed(_words((padded ^ 0x36).tobytes() + prefix[:whole]))
        self._outer = _absorbed(_words((padded ^ 0x5C).tobytes()))
        self._done = _BLOCK + whole
        self._head = _words(prefix[whole:].ljust(_BLOCK, b"\x00")), len(prefix) - whole

    def of(self, data: Octets, ends: npt.NDArray[np.int64]) -> Octets:
        """Return the first 16 bytes of each message's HMAC, N x 16.

        Args:
            data: the messages without their prefix, one after the other.
            ends: where each begins, and where the last ends; N + 1 places in `data`.
        """
        tags = np.empty((len(ends) - 1, 4), dtype=np.uint32)
        _hmac(data, ends, *self._head, self._done, self._inner, self._outer, tags)
        return tags.astype(">u4").view(np.uint8)


def _words(octets: bytes) -> Words:
    return np.frombuffer(octets, dtype=">u4").astype(np.uint32)


@compiled
def _turned(word: np.uint32, places: int) -> np.uint32:
    return _Word(_Word(word >> _Word(places)) | _Word(word << _Word(32 - places)))


@compiled
def _sum(one: np.uint32, other: np.uint32) -> np.uint32:
    return _Word(one + other)  # sums of 32-bit words would otherwise have 64


@compiled
def _compress(state: Words, schedule: Words, first: Words, second: Words) -> None:
    """Absorb a block of each lane.

    Places in rows are unsigned and their distances constant, which is what lets the compiler take
    the lanes of a loop together.

    Args:
        state: 8 rows, changed.
        schedule: 64 rows, of which the first 16 hold the block.
        first, second: 68 rows, for the words a and e of each round and of the four before it.
    """
    for row in range(4):
        for lane in range(LANES):
            first[(3 - row) * LANES + lane] = state[row * LANES + lane]
            second[(3 - row) * LANES + lane] = state[(4 + row) * LANES + lane]
    for turn in range(16, 64):
        for lane in range(LANES):
            at = _At(turn * LANES) + _At(lane)
            x, y = schedule[at - _At(15 * LANES)], schedule[at - _At(2 * LANES)]
            small = _Word(_turned(x, 7) ^ _turned(x, 18) ^ _Word(x >> _Word(3)))
            large = _Word(_turned(y, 17) ^ _turned(y, 19) ^ _Word(y >> _Word(10)))
            held = _sum(schedule[at - _At(16 * LANES)], schedule[at - _At(7 * LANES)])
            schedule[at] = _sum(held, _sum(small, large))
    for turn in range(64):
        constant = _ROUNDS[turn]
        for lane in range(LANES):
            at = _At(turn * LANES) + _At(lane)
            a, b, c, d = (
                first[at + _At(3 * LANES)],
                first[at + _At(2 * LANES)],
                first[at + _At(LANES)],
                first[at],
            )
            e, f, g, h = (
                second[at + _At(3 * LANES)],
                second[at + _At(2 * LANES)],
                second[at + _At(LANES)],
                second[at],
            )
            choice = _Word(_Word(_Word(f ^ g) & e) ^ g)
            mixed = _Word(_turned(e, 6) ^ _turned(e, 11) ^ _turned(e, 25))
            new = _sum(_sum(_sum(h, mixed), choice), _sum(constant, schedule[at]))
            majority = _Word(_Word(a & b) | _Word(_Word(a | b) & c))
            mixed = _Word(_turned(a, 2) ^ _turned(a, 13) ^ _turned(a, 22))
            second[at + _At(4 * LANES)] = _sum(d, new)
            first[at + _At(4 * LANES)] = _sum(new, _sum(mixed, majority))
    for row in range(4):
        for lane in range(LANES):
            low, end = row * LANES + lane, (67 - row) * LANES + lane
            state[low] = _sum(state[low], first[end])
            state[low + 4 * LANES] = _sum(state[low + 4 * LANES], second[end])


@compiled
def _buffers() -> tuple[Words, Words, Words, Words]:
    """Return what `_compress` takes: state, schedule, first and second."""
    return (
        np.empty(8 * LANES, np.uint32),
        np.empty(64 * LANES, np.uint32),
        np.empty(68 * LANES, np.uint32),
        np.empty(68 * LANES, np.uint32),
    )


@compiled
def _fill(rows: Words, words: Words) -> None:
    for row in range(len(words)):
        for lane in range(LANES):
            rows[row * LANES + lane] = words[row]


@compiled
def _absorbed(words: Words) -> Words:
    """Return the 8 words of the state after whole blocks."""
    state, schedule, first, second = _buffers()
    _fill(state, _START)
    for start in range(0, len(words), 16):
        _fill(schedule, words[start : start + 16])
        _compress(state, schedule, first, second)
    return state[::LANES].copy()


@compiled
def _put(schedule: Words, place: int, lane: int, octet: int) -> None:
    schedule[(place >> 2) * LANES + lane] |= _Word(octet << (24 - 8 * (place & 3)))


@compiled
def _message(
    schedule: Words,
    block: int,
    data: Octets,
    ends: npt.NDArray[np.int64],
    head: Words,
    given: int,
    done: int,
) -> None:
    """Put a block of each lane's message in the first 16 rows (see `_hmac`)."""
    for at in range(16 * LANES):
        schedule[at] = head[at // LANES] if block == 0 else _Word(0)
    begin = block * _BLOCK - given
    for lane in range(len(ends) - 1):
        start, length = ends[lane], ends[lane + 1] - ends[lane]
        for octet in range(max(begin, 0), min(begin + _BLOCK, length)):
            _put(schedule, octet - begin, lane, data[start + octet])
        if begin <= length < begin + _BLOCK:
            _put(schedule, length - begin, lane, 0x80)
        if begin - 8 <= length < begin + _BLOCK - 8:
            bits = 8 * (done + given + length)
            schedule[14 * LANES + lane] = _Word(bits >> 32)
            schedule[15 * LANES + lane] = _Word(bits & 0xFFFFFFFF)


@compiled
def _digest(schedule: Words, state: Words) -> None:
    """Put the digest of each lane's message, after a block of the key, in the first 16 rows."""
    for at in range(8 * LANES):
        schedule[at] = state[at]
    for lane in range(LANES):
        schedule[8 * LANES + lane] = _Word(0x80000000)
        for row in range(9, 15):
            schedule[row * LANES + lane] = _Word(0)
        schedule[15 * LANES + lane] = _Word(8 * (_BLOCK + 32))


@compiled
def _hmac(
    data: Octets,
    ends: npt.NDArray[np.int64],
    head: Words,
    given: int,
    done: int,
    inner: Words,
    outer: Words,
    tags: Words,
) -> None:
    """Make the tags of N messages.

    Args:
        data, ends: the messages (see `Hmac.of`).
        head: 16 words, of which `given` octets begin every message.
        given: fewer than 64.
        done: how many octets `inner` has absorbed, whole blocks.
        inner, outer: 8 words each, the states after the two padded keys.
        tags: N x 4 words, filled.
    """
    state, schedule, first, second = _buffers()
    before = np.empty(8 * LANES, np.uint32)
    blocks = np.empty(LANES, np.int64)
    for record in range(0, len(tags), LANES):
        here, most = min(LANES, len(tags) - record), 0
        for lane in range(here):
            # After the message there are an octet 0x80 and the length, in eight octets.
            length = given + ends[record + lane + 1] - ends[record + lane]
            blocks[lane] = (length + 9 + _BLOCK - 1) // _BLOCK
            most = max(most, blocks[lane])
        _fill(state, inner)
        for block in range(most):
            _message(schedule, block, data, ends[record : record + here + 1], head, given, done)
            for at in range(len(state)):
                before[at] = state[at]
            _compress(state, schedule, first, second)
            for at in range(len(state)):
                if block >= blocks[at % LANES]:
                    state[at] = before[at]
        _digest(schedule, state)
        _fill(state, outer)
        _compress(state, schedule, first, second)
        for lane in range(here):
            for word in range(4):
                tags[record + lane, word] = state[word * LANES + lane]
