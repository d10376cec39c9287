"""The check that releases under a study plan report the sets of variables that its coin chose.

The coin chooses one set for each record, the same at all owners. If owners have different linkage
secrets, their coins differ, and the stated loss would be wrong.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pramana_core.channels import RESOLUTION, Coordinated, pieces
from pramana_core.errors import RecordsDoNotAlign
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.marginals.passes import CountedRecords
from pramana_core.plan import Block
from pramana_core.progress import Tick, no_cancel

Marks = npt.NDArray[np.uint64]

_CHUNK = 1 << 18
"""The maximum number of records per step."""


def require_one_coin(
    blocks: Sequence[tuple[str, Block]], reports: CountedRecords, tick: Tick = no_cancel
) -> None:
    """Check that a coin can have chosen the sets that all owners report for each record.

    Only blocks of one study plan share a coin. Raises RecordsDoNotAlign.
    """
    by_coin: dict[str, list[tuple[str, Block]]] = {}
    for owner, block in blocks:
        if isinstance(block.channel, Coordinated):
            by_coin.setdefault(block.channel.coin, []).append((owner, block))
    for coin, parts in by_coin.items():
        if len(parts) > 1:
            _require_together(coin, parts, reports, tick)


def _require_together(
    coin: str, parts: Sequence[tuple[str, Block]], reports: CountedRecords, tick: Tick
) -> None:
    wrong = reports.counted(CoinPass(tuple(block for _, block in parts)), tick)
    if wrong:
        owners = [owner for owner, _ in parts]
        raise RecordsDoNotAlign(
            f"Of {reports.records} records that {owners} report under the study plan"
            f" {coin[:12]}..., the coin cannot have chosen the sets of {wrong}.",
            where=", ".join(owners),
            remedy="An owner used a different linkage secret or ignored the coin, so the plan's"
            " stated loss is wrong for these records. All owners should publish again under one"
            " linkage secret, in a new study.",
        )


@dataclass(frozen=True)
class CoinPass:
    """A pass that counts the records for which no coin can have chosen the reported sets."""

    blocks: tuple[Block, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that the pass reads."""
        return tuple(name for block in self.blocks for name in block.names)

    def __call__(self, reports: ReportedCounts, tick: Tick, /) -> int:
        """Return the count of such records, with each set as a sum of marks, one per variable."""
        hashes = {name: hashlib.sha256(name.encode()).digest()[:8] for name in self.names}
        marks = [
            np.array([int.from_bytes(hashes[name]) for name in b.names], dtype=np.uint64)
            for b in self.blocks
        ]
        possible, wrong = _possible(self.blocks, marks), 0
        for start in range(0, reports.records, _CHUNK):
            tick()
            part = slice(start, start + _CHUNK)
            reported = np.zeros(min(_CHUNK, reports.records - start), dtype=np.uint64)
            for block, own in zip(self.blocks, marks, strict=True):
                for variable, mark in zip(block.variables, own, strict=True):
                    # The last code means that the variable is withheld.
                    reported_here = reports.column(variable.name)[part] != variable.size
                    np.add(reported, mark, out=reported, where=reported_here)
            wrong += int(np.count_nonzero(~np.isin(reported, possible)))
        return wrong


def _possible(blocks: Sequence[Block], marks: Sequence[Marks]) -> Marks:
    """Return the sum of marks for each combination of sets that the coin can choose."""
    channels = [block.channel for block in blocks if isinstance(block.channel, Coordinated)]
    joint = pieces([channel.spans for channel in channels])
    own = [
        [int(marked[list(choice.axes)].sum(dtype=np.uint64)) for choice in channel.choices]
        for channel, marked in zip(channels, marks, strict=True)
    ]
    # Sums wrap at 2^64, as the sums of the records' marks do.
    sums = [
        sum(own[part][place] for part, place in enumerate(places) if place is not None) % (1 << 64)
        for _, places in joint
    ]
    nothing = [0] if sum(weight for weight, _ in joint) < RESOLUTION else []
    return np.array(sums + nothing, dtype=np.uint64)
