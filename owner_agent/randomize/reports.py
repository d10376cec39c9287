"""The one place where true codes become reports: each block of a plan by its keyed draws.

The reports are sorted by pseudonym, and their digest is that of the content of a release.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from owner_agent.randomize.coordinated import sample_part
from owner_agent.randomize.draws import words
from owner_agent.randomize.sampling import impossible_records, sample_block, true_cells
from owner_agent.state.keys import Secrets
from pramana_core.channels import Coordinated
from pramana_core.errors import TableError
from pramana_core.marginals.counts import Codes
from pramana_core.plan import Block, Plan
from pramana_core.wire.parts import Column, Pseudonyms, key_order, records_digest


@dataclass(frozen=True)
class SortedReports:
    """Reports sorted by pseudonym, which hides the order of the table; in memory or in files."""

    plan: Plan
    keys: Column
    columns: Mapping[str, Column]

    @property
    def digest(self) -> str:
        """SHA-256 of plan, pseudonyms and reports: the content, however it is cut into parts."""
        return records_digest(self.plan, self.keys, self.columns)


@dataclass(frozen=True)
class Randomized(SortedReports):
    """The same in memory."""

    keys: Pseudonyms
    columns: dict[str, Codes]


def randomize(
    plan: Plan,
    secrets: Secrets,
    study: str,
    keys: Pseudonyms,
    columns: Mapping[str, Codes],
    epochs: Mapping[str, int] = MappingProxyType({}),
) -> Randomized:
    """Randomize records under a plan by keyed draws.

    Args:
        plan: what to do; its variables are all in `columns`.
        secrets: the owner's secrets.
        study: the study the release is for.
        keys: pseudonyms, in any order, none repeated.
        columns: true codes by variable, in the order of `keys`.
        epochs: by a block's name, the epoch in which it is drawn anew; never, if it is not there.

    Raises:
        DuplicateRecordId: a pseudonym occurs twice.
        TableError: a record has a combination of categories that the plan calls impossible.
    """
    order = key_order(keys)
    ordered = keys[order]
    reported: dict[str, Codes] = {}
    for block in plan.blocks:
        _require_possible(block, columns)
        epoch = epochs.get(block.name, 0)
        if isinstance(block.channel, Coordinated):
            own = {name: columns[name][order] for name in block.names}
            made = sample_part(block, block.channel, secrets, study, ordered, own, epoch)
        else:
            true = true_cells(block, columns)[order]
            drawn = words(secrets, study, block, ordered, true, epoch)
            made = sample_block(block, true, drawn)
        reported.update(made)
    return Randomized(plan, ordered, reported)


def _require_possible(block: Block, columns: Mapping[str, Codes]) -> None:
    """Refuse impossible truths: their rows of the matrix would report them as they are."""
    records = int(impossible_records(block, columns).sum())
    if records:
        raise TableError(
            f"{records} records have a combination of {block.name!r} that its channel calls"
            " impossible.",
            where=block.name,
            remedy="Correct those records, or take the combination off the impossible ones.",
        )
