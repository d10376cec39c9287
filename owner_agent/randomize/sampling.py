"""The reports of a block's variables, drawn so that the declared matrix is the mechanism.

A channel over a product of any size is drawn variable by variable and never listed. Each decision
takes words of its own (`words`): a comparison of one or two words with an integer, or an exactly
uniform number.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import singledispatch

import numpy as np
import numpy.typing as npt

from owner_agent.randomize import alike
from owner_agent.randomize.alike import ChoiceSampler, Places, Sampler, Spans
from owner_agent.randomize.draws import Draws, UniformWords, below, uniform_below, uniform_columns
from owner_agent.randomize.unit_sampling import unit_sampler
from pramana_core.channels import (
    Coordinated,
    CutAndPaste,
    Mixture,
    OneHot,
    Product,
    Sampled,
    Transition,
    UnitTransition,
)
from pramana_core.errors import ChannelError
from pramana_core.marginals.counts import Codes
from pramana_core.plan import Block
from pramana_core.wire.parts import code_dtype


def true_cells(block: Block, columns: Mapping[str, Codes]) -> Codes:
    """Return what is true of each record in a block.

    That is its category, in a joint block that of the product: N cells. Where the product has more
    than 2^64 of them a record has its code of every variable instead: N x variables.
    """
    if len(block.variables) == 1:
        return columns[block.names[0]]
    own = [columns[name] for name in block.names]
    sizes = [v.size for v in block.variables]
    if math.prod(sizes) <= alike.COUNTED_CELLS:
        return join(own, sizes)
    return np.stack(own, axis=1, dtype=code_dtype(max(sizes)), casting="unsafe")


def impossible_records(block: Block, columns: Mapping[str, Codes]) -> npt.NDArray[np.bool_]:
    """Return which records have a combination that a block's channel calls impossible.

    Also one that a choice of it does, or a channel of a product: their rows of the matrix would
    report it as it is.
    """
    records = np.zeros(len(columns[block.names[0]]), dtype=np.bool_)
    own, sizes = [columns[name] for name in block.names], [v.size for v in block.variables]
    for found in _impossible(block.channel, own, sizes):
        records |= found
    return records


def _impossible(
    channel: Transition, columns: Sequence[Codes], sizes: Sequence[int]
) -> Iterator[npt.NDArray[np.bool_]]:
    """Yield which records have an impossible combination, by each channel that knows of any."""
    if channel.impossible:
        yield np.isin(join(columns, sizes), channel.impossible)
    for choice in channel.choices:
        own = [(columns[axis], sizes[axis]) for axis in choice.axes]
        yield from _impossible(choice.channel, [c for c, _ in own], [s for _, s in own])
    for places, part in channel.factors:
        yield from _impossible(part, columns[places], sizes[places])


@singledispatch
def sampler(channel: Transition, sizes: Sequence[int]) -> Sampler:  # noqa: ARG001 - the samplers'
    """Return what draws the reports of a channel's variables, prepared once for any records.

    Args:
        channel: K x L, K the product of `sizes`.
        sizes: the number of true categories of each variable.

    Raises:
        ChannelError: nobody knows how to draw from the channel.
    """
    raise ChannelError(
        f"There is no sampler for a channel of the family {type(channel).__name__}.",
        remedy="Choose a kind that the owner's guide describes.",
    )


@sampler.register
def _(channel: UnitTransition, sizes: Sequence[int]) -> Sampler:
    reported = channel.report_sizes(sizes) or tuple(sizes)
    drawn = unit_sampler(channel)
    return lambda true, words: split(drawn(join(true, sizes), words), reported)


def join(columns: Sequence[Codes], sizes: Sequence[int]) -> Codes:
    """Return the cells of a product of at most 2^64 from a code of each variable.

    They are of the narrowest unsigned type for the product, and the last variable changes fastest.
    """
    dtype = code_dtype(math.prod(sizes))
    cells: Codes = columns[0].astype(dtype)
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        cells *= dtype.type(size)
        np.add(cells, column, out=cells, casting="unsafe")
    return cells


def split(cells: Codes, sizes: Sequence[int]) -> list[Codes]:
    """Return a code of each variable from the cells of their product: the reverse of `join`."""
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
    """Keep the record by two words; else draw each variable uniformly (FRAPP 5)."""
    if channel.is_identity:
        return lambda true, words: list(true)  # noqa: ARG005 - it takes none

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
    """Flip each item by a word of its own (the MASK channel, FRAPP 7)."""

    def drawn(true: Sequence[Codes], words: UniformWords) -> list[Codes]:
        (flipped,) = _items(words, (channel.size,), channel.flip_units)
        return [flipped ^ np.uint64(1) << join(true, sizes).astype(np.uint64)]

    return drawn


@sampler.register
def _(channel: CutAndPaste, sizes: Sequence[int]) -> Sampler:
    """Insert every item by a word of its own, and keep a uniform subset of the record's items.

    An item is reported if it is kept or inserted, so that drawing both for every item is the same
    as inserting only what was not kept. The subset is selected item by item: with `left` of the
    last `m` items still to keep, the next one is kept with probability left / m.
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
def _(channel: Sampled, sizes: Sequence[int]) -> Sampler:
    """Choose a subset by the first word and report it by the words after; withhold the others."""
    # A word above all bounds chooses nothing, and everything stays withheld.
    spans = Spans(list(itertools.accumulate(choice.weight for choice in channel.choices)))
    reports = ChoiceSampler(channel.choices, sizes, sampler)
    return lambda true, words: reports(true, spans.of(words.word(0)), words.after(1))


@sampler.register
def _(channel: Product, sizes: Sequence[int]) -> Sampler:
    """Draw by each channel alone, by words that no other has."""
    parts = [(axes, sampler(part, sizes[axes])) for axes, part in channel.factors]

    def drawn(true: Sequence[Codes], words: UniformWords) -> list[Codes]:
        hands = zip(parts, words.dealt(len(parts)), strict=True)
        return [column for (axes, part), hand in hands for column in part(true[axes], hand)]

    return drawn


@sampler.register
def _(channel: Coordinated, sizes: Sequence[int]) -> Sampler:
    """Let the first word be the record's coin (see `coordinated`), and report by those after."""
    coin = Coin(channel)
    reports = ChoiceSampler(channel.choices, sizes, sampler)
    return lambda true, words: reports(true, coin.choices(words.word(0)), words.after(1))


class Coin:
    """The choices of a coordinated channel by a coin that all owners share."""

    def __init__(self, channel: Coordinated):
        self._spans = Spans([bound for span in channel.spans for bound in span])
        # Between two choices, and before and after all of them, nothing is chosen.
        self._choices = np.full(2 * len(channel.spans) + 1, len(channel.spans))
        self._choices[1::2] = np.arange(len(channel.spans))

    def choices(self, coins: Draws) -> Places:
        """Return the choice each record's coin falls on; where it falls on none, their number."""
        return self._choices.take(self._spans.of(coins))


def _items(words: UniformWords, sizes: Sequence[int], units: int) -> list[Codes]:
    """Return a set of items for each variable, each item in it with probability units / 2^32."""
    sets: list[Codes] = []
    index = 0
    for size in sizes:
        items: Codes = np.zeros(len(words), dtype=np.uint64)
        for item in range(size):
            items |= below(words.word(index), units).astype(np.uint64) << np.uint64(item)
            index += 1
        sets.append(items)
    return sets
