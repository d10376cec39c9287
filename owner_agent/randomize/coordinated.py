"""An owner's part of a study plan: chosen by the coin of all owners, drawn by its own key.

The study's coin (`draws.coins`) decides which of a record's variables are reported. The draws of
the owner's key depend on the pseudonym and on the true values of these variables alone: a report
repeats for as long as they are the same, and the other true values are not read.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from owner_agent.randomize.choices import ChoiceSampler, Coin
from owner_agent.randomize.draws import BlockKey, coins
from owner_agent.randomize.sampling import sampler
from owner_agent.state.keys import Secrets
from pramana_core.channels import Coordinated
from pramana_core.marginals.counts import Codes
from pramana_core.plan import Block
from pramana_core.wire.parts import Pseudonyms


class PartKey:
    """Draws the reports of an owner's part of a study plan, for some records at a time.

    The coin is the same in every epoch, so that a record is never reported in a second set.
    """

    def __init__(
        self, block: Block, channel: Coordinated, secrets: Secrets, study: str, epoch: int = 0
    ):
        self._coins = partial(coins, secrets, study, channel.coin)
        self._coin = Coin(channel)
        self._key = BlockKey(secrets, study, block, epoch)
        self._sampler = ChoiceSampler(channel.choices, channel.sizes, sampler)
        self._names = block.names

    def reports(self, keys: Pseudonyms, columns: Mapping[str, Codes]) -> list[Codes]:
        """Return N reported codes of each variable, from true codes in the order of `keys`."""
        chosen = self._coin.choices(self._coins(keys))
        true = [columns[name] for name in self._names]
        words = self._key.words(keys, self._sampler.cells(true, chosen))
        return self._sampler(true, chosen, words)
