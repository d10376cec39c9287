"""How accurate the miner's estimates will be, before anybody estimates anything."""

from __future__ import annotations

import math

from pramana_core.domain import Variable
from pramana_core.errors import LimitExceeded, SingularChannel
from pramana_core.marginals.counts import LEVEL
from pramana_core.marginals.score_interval import normal_quantile
from pramana_core.plan import Block
from pramana_core.privacy import largest_proportion_se

Z = normal_quantile(LEVEL)
"""Half the width of a 95 % interval in standard errors."""

DECODED_ENTRIES = 1 << 22
"""An estimator is a table of categories by reports; a larger one is not listed for a page."""

JOINT_LISTED = 512
"""The estimator of so many combinations is inverted for a report."""

JOINT_NAMED = 1 << 16


def variable_se(block: Block, name: str, records: int) -> float:
    """Return the largest standard error of a proportion of one variable.

    Raises OptionError, SingularChannel, LimitExceeded.
    """
    alone = block.restrict([name])
    if alone is not None and alone.withheld:
        raise SingularChannel("No record reports this variable.")
    if alone is None or alone.mixture is None:
        true, reported = (alone or block.channel).shape
        if true * reported > DECODED_ENTRIES:
            raise LimitExceeded(
                f"An estimator over {reported:,} different reports is too large to list here."
            )
    return largest_proportion_se(block, name, records)


def joint_se(block: Block, records: int) -> float:
    """Return the largest standard error of the share of one combination of a block's categories.

    Raises SingularChannel, LimitExceeded.
    """
    channel, size = block.channel, block.channel.shape[0]
    if not math.isfinite(channel.condition_number):
        # The channel says why; it is asked for nothing but its refusal.
        raise SingularChannel(
            "No record reports all variables of the block, so single combinations cannot be"
            " estimated by moments; pairs that are reported together can."
            if channel.choices
            else "The channel has no inverse."
        )
    closed = channel.mixture is not None
    if size > (JOINT_NAMED if closed else JOINT_LISTED) or channel.report_sizes((size,)) is None:
        raise LimitExceeded(
            f"The error of each of {size:,} combinations is not computed for this channel."
        )
    combined = Variable("combination", tuple(str(code) for code in range(size)))
    return largest_proportion_se(Block((combined,), channel), combined.name, records)


def share_reported(block: Block, name: str) -> float:
    """Return the share of records that report a variable, which is below 1 in a sampled block."""
    return block.channel.share_reported(block.names.index(name))


def record_counts(records: int) -> tuple[int, ...]:
    """Return the numbers of records at which widths are predicted: the 1, 2, 5 of each decade."""
    last = max(6, math.ceil(math.log10(records)) + 1)
    ladder = {m * 10**e for e in range(2, last) for m in (1, 2, 5)} | {10**last}
    return tuple(sorted(ladder | {records}))
