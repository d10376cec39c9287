"""One report per record, drawn from a channel by 32 uniform bits: exact, on integers.

A channel's probabilities are multiples of 2^-32, so `u`, uniform over 0 .. 2^32 - 1, picks each
report for exactly as many values as the published matrix says. There is no rounding anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from shared.counts import Codes
from shared.parts import code_dtype
from shared.plan import Block
from shared.transition import RESOLUTION, Grouped, Identity, Symmetric, Transition

Draws = npt.NDArray[np.uint32]

_FEW_REPORTS = 12
"""Up to this many reports, comparing with every boundary is faster than searching."""


def sample(channel: Transition, codes: Codes, draws: Draws) -> Codes:
    """Return the report of each record.

    Args:
        channel: K x L.
        codes: true codes, N of them, below K.
        draws: N uniform 32-bit integers.

    Returns:
        N reported codes below L, in the narrowest unsigned type.
    """
    target = code_dtype(channel.shape[1])
    if isinstance(channel, Identity):
        return codes.astype(target)
    if isinstance(channel, Symmetric):
        return _symmetric(channel, codes, draws).astype(target)
    if isinstance(channel, Grouped):
        return _grouped(channel, codes, draws).astype(target)
    return _by_boundaries(channel, codes, draws).astype(target)


def true_cells(block: Block, columns: Mapping[str, Codes]) -> Codes:
    """Return each record's true category of a block: in a joint one, of the product."""
    if len(block.variables) == 1:
        return columns[block.names[0]]
    shape = tuple(v.size for v in block.variables)
    # int64 is wide enough: a block with more than 2^32 cells is refused when it is planned.
    cells: Codes = np.ravel_multi_index(
        tuple(columns[name].astype(np.int64) for name in block.names), shape
    ).astype(code_dtype(block.channel.shape[0]))
    return cells


def sample_block(block: Block, cells: Codes, draws: Draws) -> dict[str, Codes]:
    """Return the reports of a block's variables, drawn together (see `sample`)."""
    if len(block.variables) == 1:
        return {block.names[0]: sample(block.channel, cells, draws)}
    shape = tuple(v.size for v in block.variables)
    reported = np.unravel_index(sample(block.channel, cells, draws).astype(np.int64), shape)
    return {
        name: axis.astype(code_dtype(size))
        for name, axis, size in zip(block.names, reported, shape, strict=True)
    }


def _symmetric(channel: Symmetric, codes: Codes, draws: Draws) -> Codes:
    """Keep below `keep_units`; above, each other category has `off_units` draws, in order."""
    if channel.off_units == 0:
        return codes
    if channel.off_units == RESOLUTION:
        return 1 - codes
    keep = np.uint32(channel.keep_units)
    reported = codes.copy()
    moved = np.flatnonzero(draws >= keep)
    others = (draws[moved] - keep) // np.uint32(channel.off_units)
    others += others >= codes[moved]
    reported[moved] = others
    return reported


def _grouped(channel: Grouped, codes: Codes, draws: Draws) -> Codes:
    """Sample inside each group by the group's own channel; the group never changes."""
    size = channel.shape[0]
    group_of = np.empty(size, dtype=np.int64)
    place_of = np.empty(size, dtype=np.int64)
    for index, group in enumerate(channel.groups):
        group_of[list(group)] = index
        place_of[list(group)] = np.arange(len(group))
    of_record = group_of[codes]
    order = np.argsort(of_record, kind="stable")
    ends = np.cumsum(np.bincount(of_record, minlength=len(channel.groups)))
    reported = codes.copy()
    for index, inner in enumerate(channel.channels):
        rows = order[(ends[index - 1] if index else 0) : ends[index]]
        if inner is not None and len(rows):
            places = sample(inner, place_of[codes[rows]].astype(np.uint64), draws[rows])
            reported[rows] = np.array(channel.groups[index])[places]
    return reported


def _by_boundaries(channel: Transition, codes: Codes, draws: Draws) -> Codes:
    """Report as many as there are boundaries of the record's row of P at or below its draw."""
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
