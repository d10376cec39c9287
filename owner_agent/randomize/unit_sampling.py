"""One reported category per record, exact on integers.

Most channels' probabilities are multiples of 2^-32, so one word, uniform over 0 .. 2^32 - 1, picks
each report for exactly as many values as the published matrix says. There is no rounding anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial, singledispatch
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from owner_agent.randomize.draws import UniformWords, uniform_below, words_below
from pramana_core.channels import (
    RESOLUTION,
    Grouped,
    Identity,
    RandomSymmetric,
    StructuralZeros,
    Symmetric,
    UnitTransition,
)
from pramana_core.marginals.counts import Codes
from pramana_core.wire.parts import code_dtype

UnitSampler: TypeAlias = Callable[[Codes, UniformWords], Codes]
"""`(codes, words)` gives the reports of N records, true codes below K, as codes below L."""

_FEW_REPORTS = 12
"""Up to this many reports, comparing with every boundary is faster than searching."""

_FEW_LABELS = 16
"""Up to so many labels, looking for each is faster than sorting."""


def rows_by_label(
    labels: npt.NDArray[np.integer], count: int
) -> Iterator[tuple[int, npt.NDArray[np.intp]]]:
    """Yield each label below `count` that occurs, with the rows that have it, ascending."""
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


@singledispatch
def unit_sampler(channel: UnitTransition) -> UnitSampler:
    """Return what draws the reports of records by a channel, prepared once for all of them."""
    boundaries = np.cumsum(channel.units(), axis=1).astype(np.uint64)
    rows, reports = boundaries.shape
    if reports <= _FEW_REPORTS:
        return partial(_by_comparing, boundaries)
    # All rows on one line, row l shifted by l * 2^32: a row's last boundary is the next one's 0.
    line = (boundaries + (np.arange(rows, dtype=np.uint64)[:, None] << np.uint64(32))).ravel()
    return partial(_by_searching, line, reports)


def _by_comparing(boundaries: Codes, codes: Codes, words: UniformWords) -> Codes:
    """Report as many as there are boundaries of the record's row of P at or below its draw."""
    draws = words.word(0)
    reported = np.zeros(len(codes), dtype=code_dtype(boundaries.shape[1]))
    for column in boundaries.T[:-1]:
        reported += draws >= column[codes]
    return reported


def _by_searching(line: Codes, reports: int, codes: Codes, words: UniformWords) -> Codes:
    """The same, in a line of all boundaries."""
    at = (codes.astype(np.uint64) << np.uint64(32)) + words.word(0)
    found = np.searchsorted(line, at, side="right") - codes.astype(np.int64) * reports
    return found.astype(code_dtype(reports))


@unit_sampler.register
def _(channel: Identity) -> UnitSampler:  # noqa: ARG001 - by its class
    return lambda codes, words: codes  # noqa: ARG005 - it takes none


@unit_sampler.register
def _(channel: Symmetric) -> UnitSampler:
    if channel.off_units == 0:
        return lambda codes, words: codes  # noqa: ARG005
    if channel.off_units == RESOLUTION:
        return lambda codes, words: 1 - codes  # noqa: ARG005
    keep, off, last = map(np.uint32, (channel.keep_units, channel.off_units, channel.size - 1))
    narrow = code_dtype(channel.size)

    def drawn(codes: Codes, words: UniformWords) -> Codes:
        """Keep below `keep`; above, each other category has `off` draws, in order."""
        draws = words.word(0)
        # Draws below `keep` wrap around, to above all others: `last * off` is 2^32 - `keep`.
        draws -= keep
        draws //= off
        others = np.minimum(draws, last, out=draws).astype(narrow)
        kept = np.negative((others == narrow.type(last)).astype(narrow))
        others += others >= codes
        # By bits, which is several times faster than a choice between two arrays.
        others ^= (others ^ codes.astype(narrow, copy=False)) & kept
        return others

    return drawn


@unit_sampler.register
def _(channel: RandomSymmetric) -> UnitSampler:
    """Report by the symmetric channel that the record's words after the first choose (FRAPP 4).

    Over the uniform choices each other category has `off_units` draws of the first word on
    average, which is an integer, so that the expected channel is met exactly.
    """
    choices = 2 * channel.spread_units + 1

    def drawn(codes: Codes, words: UniformWords) -> Codes:
        draws = words.word(0).astype(np.uint64)
        chosen = uniform_below(words.after(1), choices, 0, words_below(choices))
        off = chosen + np.uint64(channel.off_units - channel.spread_units)
        keep = np.uint64(RESOLUTION) - np.uint64(channel.size - 1) * off
        reported = codes.copy()
        moved = np.flatnonzero(draws >= keep)
        others = (draws[moved] - keep[moved]) // off[moved]
        others += others >= codes[moved]
        reported[moved] = others
        return reported

    return drawn


@unit_sampler.register
def _(channel: Grouped) -> UnitSampler:
    """Sample inside each group by the group's own channel; the group never changes."""
    group_of = np.empty(channel.shape[0], dtype=np.int64)
    place_of = np.empty(channel.shape[0], dtype=np.uint64)
    for index, group in enumerate(channel.groups):
        group_of[list(group)] = index
        place_of[list(group)] = np.arange(len(group))
    inner = [None if c is None else unit_sampler(c) for c in channel.channels]
    members = [np.array(group) for group in channel.groups]

    def drawn(codes: Codes, words: UniformWords) -> Codes:
        reported = codes.copy()
        for index, rows in rows_by_label(group_of[codes], len(members)):
            sampler = inner[index]
            if sampler is not None:
                places = sampler(place_of[codes[rows]], words.of(rows))
                reported[rows] = members[index][places]
        return reported

    return drawn


@unit_sampler.register
def _(channel: StructuralZeros) -> UnitSampler:
    """Sample among the possible categories by the inner channel."""
    possible = np.array(channel.possible)
    place_of = np.full(channel.size, len(possible), dtype=np.uint64)
    place_of[possible] = np.arange(len(possible))
    inner = unit_sampler(channel.channel)

    def drawn(codes: Codes, words: UniformWords) -> Codes:
        places = place_of[codes]
        # As the matrix says, an impossible category stays; `randomize` lets no record have one.
        rows = np.flatnonzero(places < len(possible))
        reported = codes.copy()
        reported[rows] = possible[inner(places[rows], words.of(rows))]
        return reported

    return drawn
