"""The reports of a block's variables, drawn so that the declared matrix is the mechanism.

A channel over a product of any size is drawn variable by variable and never listed. Each decision
takes words of its own (`words`): a comparison of one or two words with an integer, or an exactly
uniform number.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import singledispatch

import numpy as np
import numpy.typing as npt

from owner_agent.randomize.alike import ChoiceGroups
from owner_agent.randomize.draws import Draws, UniformWords, below, uniform_below, uniform_columns
from owner_agent.randomize.unit_sampling import sample
from pramana_core.channels import (
    Choice,
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

COUNTED_CELLS = 1 << 64
"""Up to so many cells of a block a record's has a number of 64 bits."""


def sample_block(block: Block, cells: Codes, words: UniformWords) -> dict[str, Codes]:
    """Return the reports of a block's variables, drawn together.

    Args:
        block: the block.
        cells: the N records' true cells or codes (see `true_cells`).
        words: the N records' words.

    Returns:
        N codes of each variable, below its reported size, in the narrowest unsigned type.

    Raises:
        ChannelError: nobody knows how to draw from the block's channel.
    """
    sizes = tuple(v.size for v in block.variables)
    reported = sample_columns(block.channel, sizes, cells, words)
    return {
        name: column.astype(code_dtype(size), copy=False)
        for name, column, size in zip(block.names, reported, block.reported_shape, strict=True)
    }


def true_cells(block: Block, columns: Mapping[str, Codes]) -> Codes:
    """Return what is true of each record in a block.

    That is its category, in a joint block that of the product: N cells. Where the product has more
    than 2^64 of them a record has its code of every variable instead: N x variables.
    """
    if len(block.variables) == 1:
        return columns[block.names[0]]
    own = [columns[name] for name in block.names]
    cells = joined(own, [v.size for v in block.variables])
    return cells if cells.ndim > 1 else cells.astype(code_dtype(block.channel.shape[0]))


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
def sample_columns(
    channel: Transition,
    sizes: Sequence[int],  # noqa: ARG001 - the samplers' arguments
    cells: Codes,  # noqa: ARG001
    words: UniformWords,  # noqa: ARG001
) -> list[Codes]:
    """Return the reports of each of a channel's variables (see `sample_block`).

    Args:
        channel: K x L, K the product of `sizes`.
        sizes: the number of true categories of each variable.
        cells: N true cells below K, the last variable changing fastest; or N true codes of each
            variable (see `true_cells`), which sampled channels and products alone take.
        words: the N records' words.
    """
    raise ChannelError(
        f"There is no sampler for a channel of the family {type(channel).__name__}.",
        remedy="Choose a kind that the owner's guide describes.",
    )


@sample_columns.register
def _(
    channel: UnitTransition, sizes: Sequence[int], cells: Codes, words: UniformWords
) -> list[Codes]:
    reported = channel.report_sizes(sizes) or tuple(sizes)
    return split(sample(channel, cells, words), reported)


def join(columns: Sequence[Codes], sizes: Sequence[int]) -> Codes:
    """Return the cells (uint64) of a product of at most 2^62 from a code of each variable."""
    cells: Codes = np.zeros(len(columns[0]), dtype=np.uint64)
    for column, size in zip(columns, sizes, strict=True):
        cells = cells * np.uint64(size) + column
    return cells


def joined(columns: Sequence[Codes], sizes: Sequence[int]) -> Codes:
    """Return the cells of the product; N x variables where there are more than 2^64 of them."""
    if math.prod(sizes) <= COUNTED_CELLS:
        return join(columns, sizes)
    codes = np.empty((len(columns[0]), len(columns)), dtype=code_dtype(max(sizes)))
    for axis, column in enumerate(columns):
        codes[:, axis] = column
    return codes


def _inside(channel: Transition, columns: Sequence[Codes], sizes: Sequence[int]) -> Codes:
    """Return the cells of a channel's variables: of a product alone they may be too many."""
    return joined(columns, sizes) if channel.factors else join(columns, sizes)


def split(cells: Codes, sizes: Sequence[int]) -> list[Codes]:
    """Return a code of each variable from the cells of their product: the reverse of `join`.

    Codes of each variable, N x variables, are taken apart.
    """
    if cells.ndim > 1:
        return list(cells.T)
    if len(sizes) == 1:
        return [cells.copy()]
    rest = cells.astype(np.uint64)
    columns: list[Codes] = []
    for size in reversed(sizes):
        rest, code = np.divmod(rest, np.uint64(size))
        columns.append(code.astype(code_dtype(size)))
    return columns[::-1]


@sample_columns.register
def _(channel: Mixture, sizes: Sequence[int], cells: Codes, words: UniformWords) -> list[Codes]:
    """Keep the record by two words; else draw each variable uniformly (FRAPP 5)."""
    columns = split(cells, sizes)
    if channel.is_identity:
        return columns
    drawn = words.word(0).astype(np.uint64) << np.uint64(32) | words.word(1)
    moved = np.flatnonzero(drawn >= np.uint64(channel.keep))
    fresh = uniform_columns(words.of(moved).after(2), sizes)
    for column, codes in zip(columns, fresh, strict=True):
        column[moved] = codes
    return columns


@sample_columns.register
def _(channel: OneHot, sizes: Sequence[int], cells: Codes, words: UniformWords) -> list[Codes]:  # noqa: ARG001
    """Flip each item by a word of its own (the MASK channel, FRAPP 7)."""
    (flipped,) = _items(words, (channel.size,), channel.flip_units)
    return [flipped ^ np.uint64(1) << cells.astype(np.uint64)]


@sample_columns.register
def _(channel: CutAndPaste, sizes: Sequence[int], cells: Codes, words: UniformWords) -> list[Codes]:
    """Insert every item by a word of its own, and keep a uniform subset of the record's items.

    An item is reported if it is kept or inserted, so that drawing both for every item is the same
    as inserting only what was not kept. The subset is selected item by item: with `left` of the
    last `m` items still to keep, the next one is kept with probability left / m.
    """
    reported = _items(words, sizes, channel.paste_units)
    rest = words.after(sum(sizes))
    stride = len(sizes) + 1
    left = np.minimum(uniform_below(rest, channel.cut + 1, 0, stride), np.uint64(channel.of))
    for place, code in enumerate(split(cells, sizes)):
        kept = uniform_below(rest, channel.of - place, place + 1, stride) < left
        left -= kept
        reported[place] |= kept.astype(np.uint64) << code.astype(np.uint64)
    return reported


@sample_columns.register
def _(channel: Sampled, sizes: Sequence[int], cells: Codes, words: UniformWords) -> list[Codes]:
    """Choose a subset by the first word and report it by the words after; withhold the others."""
    bounds = np.cumsum([choice.weight for choice in channel.choices]).astype(np.uint64)
    # A word above all bounds chooses nothing, and everything stays withheld.
    chosen = np.searchsorted(bounds, words.word(0).astype(np.uint64), side="right")
    return sample_choices(channel.choices, sizes, split(cells, sizes), chosen, words.after(1))


@sample_columns.register
def _(channel: Product, sizes: Sequence[int], cells: Codes, words: UniformWords) -> list[Codes]:
    """Draw by each channel alone, by words that no other has."""
    true = split(cells, sizes)
    reported: list[Codes] = []
    hands = words.dealt(len(channel.channels))
    for (axes, part), hand in zip(channel.factors, hands, strict=True):
        inside = _inside(part, true[axes], sizes[axes])
        reported += sample_columns(part, sizes[axes], inside, hand)
    return reported


@sample_columns.register
def _(channel: Coordinated, sizes: Sequence[int], cells: Codes, words: UniformWords) -> list[Codes]:
    """Let the first word be the record's coin (see `coordinated`), and report by those after."""
    chosen = chosen_by_coin(channel, words.word(0))
    return sample_choices(channel.choices, sizes, split(cells, sizes), chosen, words.after(1))


def chosen_by_coin(channel: Coordinated, coins: Draws) -> npt.NDArray[np.int64]:
    """Return the choice each record's coin falls on; where it falls on none, their number."""
    starts = np.array(channel.starts, dtype=np.int64)
    ends = np.array([end for _, end in channel.spans], dtype=np.int64)
    falls = coins.astype(np.int64)
    last = np.searchsorted(starts, falls, side="right") - 1
    return np.where((last >= 0) & (falls < ends[last]), last, len(starts))


def sample_choices(
    choices: Sequence[Choice],
    sizes: Sequence[int],
    true: Sequence[Codes],
    chosen: npt.NDArray[np.integer],
    words: UniformWords,
) -> list[Codes]:
    """Report each record's choice and withhold its other variables.

    Args:
        choices: the choices.
        sizes: the number of true categories of each variable.
        true: N true codes of each variable.
        chosen: the N records' choices; the number of choices for none, of which all is withheld.
        words: the N records' words.
    """
    reported: list[Codes] = [
        np.full(len(chosen), size, dtype=code_dtype(size + 1)) for size in sizes
    ]
    alike = ChoiceGroups.of(choices, sizes)
    for part in alike.parts(len(chosen)):
        codes = np.stack([column[part] for column in true])
        own = words.of(np.arange(part.start, part.stop))
        own.word(0)  # made for all at once, and not for the records of each channel alone
        made = np.repeat(alike.withheld, codes.shape[1], axis=1)
        for channel, inner, axes, rows in alike.rows(chosen[part]):
            inside = _inside(channel, [codes[axis, rows] for axis in axes], inner)
            drawn = sample_columns(channel, inner, inside, own.of(rows))
            for axis, column in zip(axes, drawn, strict=True):
                made[axis, rows] = column
        for column, codes_made in zip(reported, made, strict=True):
            column[part] = codes_made
    return reported


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
