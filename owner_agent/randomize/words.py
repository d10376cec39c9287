"""Uniform 32-bit words, as many per record as needed, and exactly uniform integers from them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pramana_core.channels import RESOLUTION
from pramana_core.marginals.counts import Codes

Draws = npt.NDArray[np.uint32]
Inputs = npt.NDArray[Any]

PER_CALL = 4
"""Words that a source generates per call and input: one block of AES."""

Source = Callable[[int, Inputs], npt.NDArray[np.uint32]]
"""`(counter, inputs)` gives words `4 counter` to `4 counter + 3` of each input, N x 4."""


class UniformWords:
    """An endless sequence of uniform words for each of N records, generated when needed."""

    def __init__(
        self,
        source: Source,
        inputs: Inputs,
        *,
        rows: npt.NDArray[np.intp] | None = None,
        first: int = 0,
        cached: tuple[int, npt.NDArray[np.uint32]] | None = None,
    ):
        """Take a source of words and its inputs, a row per record; `rows` selects records."""
        self._source = source
        self._inputs = inputs
        self._rows = rows
        self._first = first
        self._cached = cached

    def __len__(self) -> int:
        """Return N, the number of records."""
        return len(self._inputs if self._rows is None else self._rows)

    def word(self, index: int) -> Draws:
        """Return a copy of word `index` of every record: N uniform integers below 2^32."""
        counter, place = divmod(self._first + index, PER_CALL)
        if self._cached is None or self._cached[0] != counter:
            if self._rows is not None:
                self._inputs, self._rows = self._inputs[self._rows], None
            self._cached = counter, self._source(counter, self._inputs)
        words = self._cached[1][:, place]
        return (words if self._rows is None else words[self._rows]).astype(np.uint32)

    def of(self, rows: npt.NDArray[np.intp]) -> UniformWords:
        """Return the words of selected records, in the order of `rows`."""
        among = rows if self._rows is None else self._rows[rows]
        return self._from(self._first, among)

    def after(self, count: int) -> UniformWords:
        """Return the sequences without the first `count` words of every record."""
        return self._from(self._first + count, self._rows)

    def _from(self, first: int, rows: npt.NDArray[np.intp] | None) -> UniformWords:
        return UniformWords(self._source, self._inputs, rows=rows, first=first, cached=self._cached)

    def deal(self, hands: int) -> tuple[UniformWords, ...]:
        """Return `hands` disjoint sequences. Each takes every `hands`-th word of each record."""

        def hand(place: int) -> UniformWords:
            def source(counter: int, inputs: Inputs) -> Draws:
                whole = UniformWords(self._source, inputs, first=self._first + place)
                indices = range(PER_CALL * counter, PER_CALL * (counter + 1))
                return np.stack([whole.word(hands * index) for index in indices], axis=1)

            return UniformWords(source, self._inputs, rows=self._rows)

        return tuple(hand(place) for place in range(hands))


def words_below(n: int) -> int:
    """Return the number of words per attempt to draw an integer below `n`.

    It is one if n <= 2^32, else two.
    """
    return 1 if n <= RESOLUTION else 2


def uniform_below(words: UniformWords, n: int, index: int, stride: int) -> Codes:
    """Return an exactly uniform integer (uint64) below `n` for each record, by rejection.

    The first attempt uses word `index`, and the next word if n is above 2^32. Each further attempt
    starts `stride` words later. n is at most 2^63.
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
    """Return, for each size, N independent and exactly uniform integers below the size."""
    *starts, stride = itertools.accumulate(map(words_below, sizes), initial=0)
    return [uniform_below(words, n, at, stride) for n, at in zip(sizes, starts, strict=True)]


def below(draws: Draws, units: int) -> npt.NDArray[np.bool_]:
    """Return a mask of the words below `units`, which is true with probability `units` / 2^32."""
    return draws.astype(np.uint64) < np.uint64(units)
