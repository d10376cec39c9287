"""Records that two releases have by the same draws: whether they report them the same.

The same draws give the same value the same report. So a record that is reported differently has
another value than before, and whoever holds both releases knows it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from pramana_core.wire.parts import Keys, Values, locate

CHUNK = 1 << 16
"""So many records of a release are compared at once: all the memory that it takes."""

Blocks = Mapping[str, tuple[str, ...]]
"""The variables of blocks, by what identifies the blocks."""


@dataclass(frozen=True)
class Reports:
    """The records of a release: pseudonyms, ascending, and columns; all may be memory-mapped."""

    keys: Keys | npt.NDArray[np.bytes_]
    columns: Mapping[str, Values]


@dataclass
class RepeatCount:
    """What a release's reports of a block are beside those of earlier releases by the same draws.

    Attributes:
        records: how many records of it any of the earlier ones has.
        changed: how many of those any of the earlier ones reports differently.
        differing: which of the earlier ones do, by their place.
        anew: whether it reports any of them as none of the earlier ones does.
    """

    records: int = 0
    changed: int = 0
    differing: set[int] = field(default_factory=set)
    anew: bool = False


def repeated(
    new: Reports, earlier: Sequence[tuple[Reports, Blocks]], *, chunk: int = CHUNK
) -> dict[str, RepeatCount]:
    """Compare a release with earlier ones, block by block, `chunk` records at a time.

    Args:
        earlier: releases, each with the blocks that it has by draws of the new one.

    Returns:
        What was found, by the identity of the blocks.
    """
    found = {draw: RepeatCount() for _, blocks in earlier for draw in blocks}
    for start in range(0, len(new.keys), chunk):
        here = slice(start, start + chunk)
        keys = new.keys[here]
        # Of each block: the records that an earlier release has, that one reports differently,
        # and that one reports the same.
        seen = {draw: np.zeros((3, len(keys)), dtype=np.bool_) for draw in found}
        for place, (other, blocks) in enumerate(earlier):
            at, there = locate(keys, other.keys)
            at = at[there]
            for draw, names in blocks.items():
                differs = np.zeros(len(at), dtype=np.bool_)
                for name in names:
                    differs |= other.columns[name][at] != new.columns[name][here][there]
                known, changed, same = seen[draw]
                known |= there
                changed[there] |= differs
                same[there] |= ~differs
                if differs.any():
                    found[draw].differing.add(place)
        for draw, (known, changed, same) in seen.items():
            told = found[draw]
            told.records += int(np.count_nonzero(known))
            told.changed += int(np.count_nonzero(changed))
            told.anew |= bool(np.any(known & ~same))
    return found
