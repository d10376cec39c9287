"""Drawing a report from a true code, by the channel's matrix or by an algorithm of the channel.

Each random word is uniform over 0 .. 2^32 - 1. The words select reports with exactly the
probabilities of the matrix, without rounding.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial, singledispatch
from typing import TypeAlias

import numpy as np

from owner_agent.randomize.choices import (
    COUNTED_CELLS,
    ChoiceSampler,
    Coin,
    Sampler,
    rows_by_label,
    spans_of,
)
from owner_agent.randomize.words import (
    UniformWords,
    below,
    uniform_below,
    uniform_columns,
    words_below,
)
from pramana_core.channels import (
    RESOLUTION,
    SUBSETS,
    Coordinated,
    CutAndPaste,
    Grouped,
    Identity,
    Mixture,
    OneHot,
    Product,
    RandomSymmetric,
    Sampled,
    SubsetSelection,
    Symmetric,
    Transition,
    UnitTransition,
)
from pramana_core.errors import ChannelError
from pramana_core.marginals.counts import Codes
from pramana_core.plan import Block
from pramana_core.wire.parts import code_dtype

UnitSampler: TypeAlias = Callable[[Codes, UniformWords], Codes]
"""`(codes, words)` maps N true codes below K to N reported codes below L."""

_FEW_REPORTS = 12
"""Up to this many reports, comparing with every boundary is faster than searching."""


@singledispatch
def unit_sampler(channel: UnitTransition) -> UnitSampler:
    """Return a function, prepared once for all records, that draws a channel's reports."""
    boundaries = np.cumsum(channel.units(), axis=1).astype(np.uint64)
    rows, reports = boundaries.shape
    if reports <= _FEW_REPORTS:
        return partial(_by_comparing, boundaries)
    # One array of all rows, row l shifted by l * 2^32: a row's last boundary is the next row's 0.
    line = (boundaries + (np.arange(rows, dtype=np.uint64)[:, None] << np.uint64(32))).ravel()
    return partial(_by_searching, line, reports)


def _by_comparing(boundaries: Codes, codes: Codes, words: UniformWords) -> Codes:
    """Return, for each record, how many boundaries in its row of P are at most its draw."""
    draws = words.word(0)
    reported = np.zeros(len(codes), dtype=code_dtype(boundaries.shape[1]))
    for column in boundaries.T[:-1]:
        reported += draws >= column[codes]
    return reported


def _by_searching(line: Codes, reports: int, codes: Codes, words: UniformWords) -> Codes:
    """Return the same counts as `_by_comparing`, by searching one array of all rows' boundaries."""
    at = (codes.astype(np.uint64) << np.uint64(32)) + words.word(0)
    found = np.searchsorted(line, at, side="right") - codes.astype(np.int64) * reports
    return found.astype(code_dtype(reports))


@unit_sampler.register
def _(channel: Identity) -> UnitSampler:  # noqa: ARG001 - dispatched by class
    return lambda codes, words: codes  # noqa: ARG005 - needs no words


@unit_sampler.register
def _(channel: Symmetric) -> UnitSampler:
    if channel.off_units == 0:
        return lambda codes, words: codes  # noqa: ARG005
    if channel.off_units == RESOLUTION:
        return lambda codes, words: 1 - codes  # noqa: ARG005
    keep, off, last = map(np.uint32, (channel.keep_units, channel.off_units, channel.size - 1))
    narrow = code_dtype(channel.size)

    def drawn(codes: Codes, words: UniformWords) -> Codes:
        draws = words.word(0)
        # Draws below `keep` wrap around above all others: `last * off` is 2^32 - `keep`.
        draws -= keep
        draws //= off
        others = np.minimum(draws, last, out=draws).astype(narrow)
        kept = np.negative((others == narrow.type(last)).astype(narrow))
        others += others >= codes
        # Bit operations are several times faster than a choice between two arrays.
        others ^= (others ^ codes.astype(narrow, copy=False)) & kept
        return others

    return drawn


@unit_sampler.register
def _(channel: RandomSymmetric) -> UnitSampler:
    """Report by a symmetric channel that the record's second and later words select (FRAPP 4).

    Averaged over these words, each other category has `off_units` draws of the first word. This
    average is an integer, so the expected channel is exact.
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
    """Draw by the channel of the true code's group, so the report is in the same group."""
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


def true_cells(block: Block, columns: Mapping[str, Codes]) -> Codes:
    """Return the true cell of each record in a block.

    Above 2^64 cells, return the codes instead, N x variables.
    """
    if len(block.variables) == 1:
        return columns[block.names[0]]
    own = [columns[name] for name in block.names]
    sizes = [v.size for v in block.variables]
    if math.prod(sizes) <= COUNTED_CELLS:
        return join(own, sizes)
    return np.stack(own, axis=1, dtype=code_dtype(max(sizes)), casting="unsafe")


@singledispatch
def sampler(channel: Transition, sizes: Sequence[int]) -> Sampler:  # noqa: ARG001 - the samplers'
    """Prepare a function that draws a channel's reports for all records. Raises ChannelError."""
    raise ChannelError(
        f"Channels of the family {type(channel).__name__} cannot be drawn.",
        remedy="Choose one of the kinds of channels in the owner's guide.",
    )


@sampler.register
def _(channel: UnitTransition, sizes: Sequence[int]) -> Sampler:
    reported = channel.report_sizes(sizes) or tuple(sizes)
    drawn = unit_sampler(channel)
    return lambda true, words: split(drawn(join(true, sizes), words), reported)


def join(columns: Sequence[Codes], sizes: Sequence[int]) -> Codes:
    """Return the cells of records given as columns of codes. The last variable varies fastest.

    There may be at most 2^64 cells.
    """
    dtype = code_dtype(math.prod(sizes))
    cells: Codes = columns[0].astype(dtype)
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        cells *= dtype.type(size)
        np.add(cells, column, out=cells, casting="unsafe")
    return cells


def split(cells: Codes, sizes: Sequence[int]) -> list[Codes]:
    """Return the codes of each variable for cells; the inverse of `join`."""
    if len(sizes) == 1:
        return [cells]
    rest = cells.astype(code_dtype(math.prod(sizes)), copy=False)
    columns: list[Codes] = []
    for size in reversed(sizes):
        above = rest // rest.dtype.type(size)
        columns.append((rest - above * rest.dtype.type(size)).astype(code_dtype(size)))
        rest = above
    return columns[::-1]


@sampler.register
def _(channel: Mixture, sizes: Sequence[int]) -> Sampler:
    """Keep the record, or draw each variable uniformly, depending on two words (FRAPP 5)."""
    if channel.is_identity:
        return lambda true, words: list(true)  # noqa: ARG005 - needs no words

    def drawn(true: Sequence[Codes], words: UniformWords) -> list[Codes]:
        columns = [column.copy() for column in true]
        kept = words.word(0).astype(np.uint64) << np.uint64(32) | words.word(1)
        moved = np.flatnonzero(kept >= np.uint64(channel.keep))
        fresh = uniform_columns(words.of(moved).after(2), sizes)
        for column, codes in zip(columns, fresh, strict=True):
            column[moved] = codes
        return columns

    return drawn


@sampler.register
def _(channel: OneHot, sizes: Sequence[int]) -> Sampler:
    """Flip each item according to a separate word (the MASK channel, FRAPP 7)."""

    def drawn(true: Sequence[Codes], words: UniformWords) -> list[Codes]:
        (flipped,) = _items(words, (channel.size,), channel.flip_units)
        return [flipped ^ np.uint64(1) << join(true, sizes).astype(np.uint64)]

    return drawn


@sampler.register
def _(channel: CutAndPaste, sizes: Sequence[int]) -> Sampler:
    """Insert every item according to a separate word, then keep a uniform subset of the items.

    An item is reported if it is kept or inserted, so drawing both for every item is equivalent to
    inserting only items not kept. The subset is selected item by item. With `left` of the last `m`
    items still to keep, the next item is kept with probability left / m.
    """
    stride = len(sizes) + 1

    def drawn(true: Sequence[Codes], words: UniformWords) -> list[Codes]:
        reported = _items(words, sizes, channel.paste_units)
        rest = words.after(sum(sizes))
        left = uniform_below(rest, channel.cut + 1, 0, stride)
        left = np.minimum(left, np.uint64(channel.of))
        for place, code in enumerate(true):
            kept = uniform_below(rest, channel.of - place, place + 1, stride) < left
            left -= kept
            reported[place] |= kept.astype(np.uint64) << code.astype(np.uint64)
        return reported

    return drawn


@sampler.register
def _(channel: SubsetSelection, sizes: Sequence[int]) -> Sampler:
    """Draw a subset, which contains the true code with the channel's probability."""
    reports = channel.report_sizes(sizes) or ()

    def drawn(true: Sequence[Codes], words: UniformWords) -> list[Codes]:
        inside = below(words.word(0), channel.inside_units)
        rest = words.after(1)
        subset = uniform_below(rest, SUBSETS, 0, 2).astype(np.int64)
        shifted = join(true, sizes).astype(np.int64)
        outside = channel.size - channel.chosen
        for rows, first, count in (
            (np.flatnonzero(inside), 0, channel.chosen),
            (np.flatnonzero(~inside), channel.chosen, outside),
        ):
            places = uniform_below(rest.of(rows), count, 1, 2).astype(np.int64)
            shifted[rows] += channel.shifts[subset[rows], first + places]
        reported = subset * channel.size + shifted % channel.size
        return split(reported.astype(code_dtype(channel.shape[1])), reports)

    return drawn


def set_sampler(channel: Transition, sizes: Sequence[int]) -> Sampler:
    """Return a function that draws the reports of a sampled set.

    If the channel has tags, the code of the first variable also contains the tag.
    """
    drawn = sampler(channel, sizes)
    if not channel.tags:
        return drawn

    def reports(true: Sequence[Codes], words: UniformWords) -> list[Codes]:
        first, *others = drawn(true, words)
        tags, cells = np.divmod(first.astype(np.int64), sizes[0])
        return [cells + (tags + 1) * (sizes[0] + 1), *others]

    return reports


@sampler.register
def _(channel: Sampled, sizes: Sequence[int]) -> Sampler:
    """Choose variables by the first word and draw reports by later words; withhold the others."""
    # A word above all bounds chooses nothing: all variables are withheld.
    bounds = list(itertools.accumulate(choice.weight for choice in channel.choices))
    reports = ChoiceSampler(channel.choices, sizes, set_sampler)
    return lambda true, words: reports(true, spans_of(bounds, words.word(0)), words.after(1))


@sampler.register
def _(channel: Product, sizes: Sequence[int]) -> Sampler:
    """Draw from each channel independently, with separate words."""
    parts = [(axes, sampler(part, sizes[axes])) for axes, part in channel.factors]

    def drawn(true: Sequence[Codes], words: UniformWords) -> list[Codes]:
        hands = zip(parts, words.deal(len(parts)), strict=True)
        return [column for (axes, part), hand in hands for column in part(true[axes], hand)]

    return drawn


@sampler.register
def _(channel: Coordinated, sizes: Sequence[int]) -> Sampler:
    """Use the first word as the record's coin (see `reports`), and draw by the later words."""
    coin = Coin(channel)
    reports = ChoiceSampler(channel.choices, sizes, set_sampler)
    return lambda true, words: reports(true, coin.choices(words.word(0)), words.after(1))


def _items(words: UniformWords, sizes: Sequence[int], units: int) -> list[Codes]:
    """Return random sets of items for each variable, with probability units / 2^32 per item."""
    sets: list[Codes] = []
    index = 0
    for size in sizes:
        items: Codes = np.zeros(len(words), dtype=np.uint64)
        for item in range(size):
            items |= below(words.word(index), units).astype(np.uint64) << np.uint64(item)
            index += 1
        sets.append(items)
    return sets
