"""An owner's part of a study plan: chosen by the coin of all owners, drawn by its own key.

Which of a record's variables are reported follows the study's coin (`draws.coins`). What is
reported of them are draws of the owner's own key, keyed on the pseudonym and on what is true of the
record in the variables of the chosen set, and in no others: a report repeats for as long as what it
reports is true, whatever is corrected beside it; and the others' true values are not even read.
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
    """What draws the reports of an owner's part of a study plan, for some records at a time.

    Args:
        block: the part.
        channel: its channel.
        secrets: the owner's secrets.
        study: the study the release is for.
        epoch: how often all records of the block were drawn anew. The coin is the same in every
            epoch, so that a record is never reported in a second set.
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
        """Return N reported codes of each variable.

        Args:
            keys: N pseudonyms.
            columns: true codes by variable, in the order of `keys`.
        """
        chosen = self._coin.choices(self._coins(keys))
        true = [columns[name] for name in self._names]
        words = self._key.words(keys, self._sampler.cells(true, chosen))
        return self._sampler(true, chosen, words)
