"""One reported category per record, exact on integers.

Most channels' probabilities are multiples of 2^-32, so one word, uniform over 0 .. 2^32 - 1, picks
each report for exactly as many values as the published matrix says. There is no rounding anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch

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

_FEW_REPORTS = 12
"""Up to this many reports, comparing with every boundary is faster than searching."""


def sample(channel: UnitTransition, codes: Codes, words: UniformWords) -> Codes:
    """Return the report of each record.

    Args:
        channel: K x L.
        codes: true codes, N of them, below K.
        words: the N records' words; only a randomly drawn channel takes more than the first.

    Returns:
        N reported codes below L, in the narrowest unsigned type.
    """
    return _sample(channel, codes, words).astype(code_dtype(channel.shape[1]))


def rows_by_label(
    labels: npt.NDArray[np.integer], count: int
) -> Iterator[tuple[int, npt.NDArray[np.intp]]]:
    """Yield each label below `count` that occurs, with the rows that have it, ascending."""
    order = np.argsort(labels, kind="stable")
    ends = np.cumsum(np.bincount(labels, minlength=count))
    for label in range(count):
        rows = order[(ends[label - 1] if label else 0) : ends[label]]
        if len(rows):
            yield label, rows


@singledispatch
def _sample(channel: UnitTransition, codes: Codes, words: UniformWords) -> Codes:
    """Report as many as there are boundaries of the record's row of P at or below its draw."""
    draws = words.word(0)
    boundaries = np.cumsum(channel.units(), axis=1).astype(np.uint64)
    rows, reports = boundaries.shape
    if reports <= _FEW_REPORTS:
        reported = np.zeros(len(codes), dtype=code_dtype(reports))
        for column in range(reports - 1):
            reported += draws >= boundaries[:, column][codes]
        few: Codes = reported
        return few
    # All rows on one line, row l shifted by l * 2^32: a row's last boundary is the next one's 0.
    line = (boundaries + (np.arange(rows, dtype=np.uint64)[:, None] << np.uint64(32))).ravel()
    at = (codes.astype(np.uint64) << np.uint64(32)) + draws
    found = np.searchsorted(line, at, side="right")
    many: Codes = (found - codes.astype(np.int64) * reports).astype(np.uint64)
    return many


@_sample.register
def _(channel: Identity, codes: Codes, words: UniformWords) -> Codes:  # noqa: ARG001 - by its class
    return codes


@_sample.register
def _(channel: Symmetric, codes: Codes, words: UniformWords) -> Codes:
    """Keep below `keep_units`; above, each other category has `off_units` draws, in order."""
    if channel.off_units == 0:
        return codes
    if channel.off_units == RESOLUTION:
        return 1 - codes
    draws = words.word(0)
    keep = np.uint32(channel.keep_units)
    reported = codes.copy()
    moved = np.flatnonzero(draws >= keep)
    others = (draws[moved] - keep) // np.uint32(channel.off_units)
    others += others >= codes[moved]
    reported[moved] = others
    return reported


@_sample.register
def _(channel: RandomSymmetric, codes: Codes, words: UniformWords) -> Codes:
    """Report by the symmetric channel that the record's words after the first choose (FRAPP 4).

    Over the uniform choices each other category has `off_units` draws of the first word on
    average, which is an integer, so that the expected channel is met exactly.
    """
    draws = words.word(0).astype(np.uint64)
    choices = 2 * channel.spread_units + 1
    chosen = uniform_below(words.after(1), choices, 0, words_below(choices))
    off = chosen + np.uint64(channel.off_units - channel.spread_units)
    keep = np.uint64(RESOLUTION) - np.uint64(channel.size - 1) * off
    reported = codes.copy()
    moved = np.flatnonzero(draws >= keep)
    others = (draws[moved] - keep[moved]) // off[moved]
    others += others >= codes[moved]
    reported[moved] = others
    return reported


@_sample.register
def _(channel: Grouped, codes: Codes, words: UniformWords) -> Codes:
    """Sample inside each group by the group's own channel; the group never changes."""
    size = channel.shape[0]
    group_of = np.empty(size, dtype=np.int64)
    place_of = np.empty(size, dtype=np.int64)
    for index, group in enumerate(channel.groups):
        group_of[list(group)] = index
        place_of[list(group)] = np.arange(len(group))
    reported = codes.copy()
    for index, rows in rows_by_label(group_of[codes], len(channel.groups)):
        inner = channel.channels[index]
        if inner is not None:
            places = sample(inner, place_of[codes[rows]].astype(np.uint64), words.of(rows))
            reported[rows] = np.array(channel.groups[index])[places]
    return reported


@_sample.register
def _(channel: StructuralZeros, codes: Codes, words: UniformWords) -> Codes:
    """Sample among the possible categories by the inner channel."""
    possible = np.array(channel.possible)
    place_of = np.full(channel.size, len(possible))
    place_of[possible] = np.arange(len(possible))
    places = place_of[codes]
    # As the matrix says, an impossible category stays; `randomize` lets no record have one.
    rows = np.flatnonzero(places < len(possible))
    reported = codes.copy()
    reported[rows] = possible[
        sample(channel.channel, places[rows].astype(np.uint64), words.of(rows))
    ]
    return reported
