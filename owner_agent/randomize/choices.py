"""Sampled blocks: each record reports only the variables of a randomly chosen subset."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from owner_agent.randomize.words import Draws, UniformWords
from pramana_core.channels import RESOLUTION, Choice, Coordinated, Transition
from pramana_core.marginals.counts import Codes
from pramana_core.wire.parts import code_dtype

_FEW_LABELS = 16
"""Up to this many labels, one search per label is faster than sorting."""


def rows_by_label(
    labels: npt.NDArray[np.integer], count: int
) -> Iterator[tuple[int, npt.NDArray[np.intp]]]:
    """Yield each label below `count` that occurs, with its row indices in ascending order."""
    if count <= _FEW_LABELS:
        found = ((label, np.flatnonzero(labels == label)) for label in range(count))
        yield from ((label, rows) for label, rows in found if len(rows))
        return
    order = np.argsort(labels, kind="stable")
    ends = np.cumsum(np.bincount(labels, minlength=count))
    for label in range(count):
        rows = order[(ends[label - 1] if label else 0) : ends[label]]
        if len(rows):
            yield label, rows


COUNTED_CELLS = 1 << 64
"""The largest count of cells of a block whose cells are numbered in 64 bits."""

Places = npt.NDArray[np.intp]

Sampler: TypeAlias = Callable[[Sequence[Codes], UniformWords], list[Codes]]
"""`(true, words)` maps N true codes per variable to N reported codes per variable."""


def spans_of(bounds: Sequence[int], words: Draws) -> Places:
    """Return, for each word, the count of `bounds` that are at most that word.

    The bounds are ascending and at most 2^32.
    """
    below = np.array([bound for bound in bounds if bound < RESOLUTION], dtype=np.uint32)
    return below.searchsorted(words, side="right")


class ChoiceSampler:
    """Draws reports for the variables that each record chose; reports all others as withheld."""

    def __init__(
        self,
        choices: Sequence[Choice],
        sizes: Sequence[int],
        sampler: Callable[[Transition, Sequence[int]], Sampler],
    ):
        kinds, kind_of = _kinds(choices, sizes)
        self._kinds = [(sampler(channel, inner), len(inner)) for channel, inner in kinds]
        # The last choice is the empty set.
        self._kind_of = np.array([*kind_of, len(kinds)], dtype=code_dtype(len(kinds) + 1))
        # A dummy variable of one category pads shorter choices.
        self._axes = np.full((max(len(c.axes) for c in choices), len(kind_of) + 1), len(sizes))
        for index, choice in enumerate(choices):
            self._axes[: len(choice.axes), index] = choice.axes
        self._sizes = np.array([*sizes, 1], dtype=np.uint64)[self._axes]
        self._counted = all(math.prod(inner) <= COUNTED_CELLS for _, inner in kinds)
        most = max((c.channel.tags + 1) * (max(sizes) + 1) for c in choices)
        self._withheld: Codes = np.array(sizes, dtype=code_dtype(most))[:, None]

    def __call__(self, true: Sequence[Codes], chosen: Places, words: UniformWords) -> list[Codes]:
        """Return N codes per variable for N true codes and choices; the last code is "withheld"."""
        codes = self._line(true)
        made: Codes = np.repeat(self._withheld, len(chosen), axis=1)
        line = made.reshape(-1)
        for kind, rows in rows_by_label(self._kind_of.take(chosen), len(self._kinds)):
            sampler, count = self._kinds[kind]
            places = self._places(chosen.take(rows), rows, len(chosen))[:count]
            drawn = sampler([codes.take(own) for own in places], words.of(rows))
            for own, column in zip(places, drawn, strict=True):
                line[own] = column
        return list(made)

    def cells(self, true: Sequence[Codes], chosen: Places) -> Codes:
        """Return the true cell of each of N records in its chosen variables.

        Above 2^64 cells, return the codes instead, N x variables.
        """
        codes = self._line(true)
        places = self._places(chosen, np.arange(len(chosen)), len(chosen))
        if self._counted:
            cells: Codes = codes.take(places[0]).astype(np.uint64)
            for own, sizes in zip(places[1:], self._sizes[1:], strict=True):
                cells *= sizes.take(chosen)
                cells += codes.take(own)
            return cells
        made: Codes = np.zeros((len(true) + 1, len(chosen)), dtype=np.uint64)
        made[:-1] = self._withheld
        for own in places:
            made.reshape(-1)[own] = codes.take(own)
        return np.ascontiguousarray(made[:-1].T)

    def _line(self, true: Sequence[Codes]) -> Codes:
        """Return all codes in one array, by variable, with those of the dummy variable last."""
        codes: Codes = np.zeros((len(true) + 1, len(true[0])), dtype=self._withheld.dtype)
        for row, column in zip(codes, true, strict=False):
            row[:] = column
        return codes.reshape(-1)

    def _places(self, chosen: Places, rows: Places, records: int) -> list[Places]:
        """Return for each chosen variable the indices of its codes in the array of `_line`."""
        return [start.take(chosen) + rows for start in self._axes * records]


def _kinds(
    choices: Sequence[Choice], sizes: Sequence[int]
) -> tuple[list[tuple[Transition, tuple[int, ...]]], list[int]]:
    """Return the distinct channels with their variables' sizes, and the channel of each choice."""
    found: dict[tuple[Transition, tuple[int, ...]], int] = {}
    kinds = [(choice.channel, tuple(sizes[axis] for axis in choice.axes)) for choice in choices]
    kind_of = [found.setdefault(kind, len(found)) for kind in kinds]
    return list(found), kind_of


class Coin:
    """The choices of a coordinated channel, made with a coin that is equal at all owners."""

    def __init__(self, channel: Coordinated):
        self._bounds = [bound for span in channel.spans for bound in span]
        # A coin between two choices, or before the first or after the last, chooses nothing.
        self._choices = np.full(2 * len(channel.spans) + 1, len(channel.spans))
        self._choices[1::2] = np.arange(len(channel.spans))

    def choices(self, coins: Draws) -> Places:
        """Return the index of each record's choice. The count of choices means "not chosen"."""
        return self._choices.take(spans_of(self._bounds, coins))
