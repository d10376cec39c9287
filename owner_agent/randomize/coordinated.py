"""An owner's part of a study plan: chosen by the coin of all owners, drawn by its own key.

Which of a record's variables are reported follows the study's coin (`draws.coins`). What is
reported of them are draws of the owner's own key, keyed on the pseudonym and on what is true of the
record in the variables of the chosen set, and in no others: a report repeats for as long as what it
reports is true, whatever is corrected beside it; and the others' true values are not even read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from owner_agent.randomize.alike import ChoiceGroups
from owner_agent.randomize.draws import coins, words
from owner_agent.randomize.sampling import (
    COUNTED_CELLS,
    chosen_by_coin,
    join,
    sample_choices,
)
from owner_agent.state.keys import Secrets
from pramana_core.channels import Coordinated
from pramana_core.marginals.counts import Codes
from pramana_core.plan import Block
from pramana_core.wire.parts import Pseudonyms, code_dtype


def apart_from_coin(
    block: Block, secrets: Secrets, study: str, keys: Pseudonyms, reports: Mapping[str, Codes]
) -> int:
    """Return of how many records another owner reports another set than the coin says.

    Args:
        block: its block; one that is no part of a study plan has no coin to part from.
        secrets: this owner's secrets, for the linkage secret that all owners share.
        study: the study the reports are for.
        keys: N pseudonyms.
        reports: N reported codes by variable.
    """
    if not isinstance(block.channel, Coordinated):
        return 0
    choices = block.channel.choices
    chosen = chosen_by_coin(block.channel, coins(secrets, study, block.channel.coin, keys))
    wrong = np.zeros(len(keys), dtype=np.bool_)
    for axis, variable in enumerate(block.variables):
        # The last stands for records of which nothing is reported.
        told = np.array([*(axis in choice.axes for choice in choices), False])
        wrong |= told[chosen] != (reports[variable.name] != variable.size)
    return int(np.count_nonzero(wrong))


def sample_part(
    block: Block,
    channel: Coordinated,
    secrets: Secrets,
    study: str,
    keys: Pseudonyms,
    columns: Mapping[str, Codes],
    epoch: int = 0,
) -> dict[str, Codes]:
    """Return the reports of an owner's part of a study plan.

    Args:
        block: the part.
        channel: its channel.
        secrets: the owner's secrets.
        study: the study the release is for.
        keys: N pseudonyms.
        columns: true codes by variable, in the order of `keys`.
        epoch: how often all records of the block were drawn anew. The coin is the same in every
            epoch, so that a record is never reported in a second set.

    Returns:
        N codes of each variable, below its reported size, in the narrowest unsigned type.
    """
    chosen = chosen_by_coin(channel, coins(secrets, study, channel.coin, keys))
    true = [columns[name] for name in block.names]
    drawn = words(secrets, study, block, keys, _chosen_cells(channel, true, chosen), epoch)
    reported = sample_choices(channel.choices, channel.sizes, true, chosen, drawn)
    return {
        name: column.astype(code_dtype(size), copy=False)
        for name, column, size in zip(block.names, reported, block.reported_shape, strict=True)
    }


def _chosen_cells(
    channel: Coordinated, true: Sequence[Codes], chosen: npt.NDArray[np.integer]
) -> Codes:
    """Return what is true of each record in the variables of its choice, N cells of them.

    Where a choice has more than 2^64 it is N x variables codes, those of others as if withheld.
    """
    alike = ChoiceGroups.of(channel.choices, channel.sizes)
    counted = all(math.prod(inner) <= COUNTED_CELLS for _, inner in alike.kinds)
    shape = (len(chosen),) if counted else (len(chosen), len(true))
    cells: Codes = np.zeros(shape, dtype=np.uint64)
    if not counted:
        cells[:] = channel.sizes
    for part in alike.parts(len(chosen)):
        codes = np.stack([column[part] for column in true])
        for _, inner, axes, rows in alike.rows(chosen[part]):
            own = [codes[axis, rows] for axis in axes]
            if counted:
                cells[part][rows] = join(own, inner)
                continue
            for axis, column in zip(axes, own, strict=True):
                cells[part][rows, axis] = column
    return cells
