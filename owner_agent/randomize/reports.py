"""Drawing the reports of whole columns by keyed draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from owner_agent.randomize.choices import ChoiceSampler, Coin
from owner_agent.randomize.draws import BlockKey, coins
from owner_agent.randomize.sampling import sampler, set_sampler, true_cells
from owner_agent.randomize.words import Draws
from owner_agent.state.keys import Secrets
from pramana_core.channels import Coordinated
from pramana_core.kernels.counting import processors
from pramana_core.marginals.counts import Codes
from pramana_core.plan import Block, Plan
from pramana_core.wire.parts import Column, Pseudonyms, code_dtype, key_order, records_digest

_Drawing: TypeAlias = Callable[[Pseudonyms, Mapping[str, Codes]], list[Codes]]

_TOGETHER = 1 << 16
"""Records per batch of draws: fewer than are read at a time, so that they stay in the cache."""


@dataclass(frozen=True)
class SortedReports:
    """Reports in memory or in files, sorted by pseudonym, which hides the order of the table."""

    plan: Plan
    keys: Column
    columns: Mapping[str, Column]

    @property
    def digest(self) -> str:
        """SHA-256 of plan, pseudonyms and reports, independent of the division into parts."""
        return records_digest(self.plan, self.keys, self.columns)


@dataclass(frozen=True)
class Randomized(SortedReports):
    """Sorted reports in memory."""

    keys: Pseudonyms
    columns: dict[str, Codes]


class Randomizer:
    """A plan's keyed draws, prepared once for all records. A report depends on its record only."""

    def __init__(
        self,
        plan: Plan,
        secrets: Secrets,
        study: str,
        epoch: int = 0,
        threads: int | None = None,
    ):
        self.plan = plan
        self._threads = threads or processors()
        self._blocks = [_drawing(block, secrets, study, epoch) for block in plan.blocks]

    def reports(self, keys: Pseudonyms, columns: Mapping[str, Codes]) -> dict[str, Codes]:
        """Return N reported codes of each variable, for N pseudonyms (`keys`) and true codes."""
        made: dict[str, Codes] = {}
        for block in self.plan.blocks:
            for name, size in zip(block.names, block.reported_shape, strict=True):
                made[name] = np.empty(len(keys), dtype=code_dtype(size))

        def draw(start: int) -> None:
            part = slice(start, start + _TOGETHER)
            for block, drawing in zip(self.plan.blocks, self._blocks, strict=True):
                true = {name: columns[name][part] for name in block.names}
                for name, column in zip(block.names, drawing(keys[part], true), strict=True):
                    made[name][part] = column

        starts = range(0, len(keys), _TOGETHER)
        if self._threads == 1 or len(starts) == 1:
            for start in starts:
                draw(start)
        else:
            with ThreadPoolExecutor(self._threads) as pool:
                list(pool.map(draw, starts))
        return made

    def randomized(self, keys: Pseudonyms, columns: Mapping[str, Codes]) -> Randomized:
        """Return the reports of records, sorted by pseudonym (see `randomize`)."""
        order = key_order(keys)
        names = [name for block in self.plan.blocks for name in block.names]
        ordered = {name: columns[name][order] for name in names}
        return Randomized(self.plan, keys[order], self.reports(keys[order], ordered))


def _drawing(block: Block, secrets: Secrets, study: str, epoch: int) -> _Drawing:
    key = BlockKey(secrets, study, block, epoch)
    if isinstance(block.channel, Coordinated):
        return _drawing_part(block.names, block.channel, key, partial(coins, secrets, study))
    reported = sampler(block.channel, tuple(v.size for v in block.variables))

    def drawing(keys: Pseudonyms, columns: Mapping[str, Codes]) -> list[Codes]:
        words = key.words(keys, true_cells(block, columns))
        return reported([columns[name] for name in block.names], words)

    return drawing


def _drawing_part(
    names: Sequence[str],
    channel: Coordinated,
    key: BlockKey,
    coins_of: Callable[[str, Pseudonyms], Draws],
) -> _Drawing:
    """Return a function that draws an owner's part of a study plan with the shared coin."""
    coin, reported = Coin(channel), ChoiceSampler(channel.choices, channel.sizes, set_sampler)

    def drawing(keys: Pseudonyms, columns: Mapping[str, Codes]) -> list[Codes]:
        chosen = coin.choices(coins_of(channel.coin, keys))
        true = [columns[name] for name in names]
        return reported(true, chosen, key.words(keys, reported.cells(true, chosen)))

    return drawing


def randomize(
    plan: Plan,
    secrets: Secrets,
    study: str,
    keys: Pseudonyms,
    columns: Mapping[str, Codes],
    epoch: int = 0,
) -> Randomized:
    """Randomize each variable's true codes, in the order of `keys`. Raises DuplicateRecordId."""
    return Randomizer(plan, secrets, study, epoch).randomized(keys, columns)
