"""Masked records as they leave.

A table that was masked before is not masked another time: what the outbox holds of it is sent
again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from owner_agent.departures.fingerprints import recognized
from owner_agent.departures.outbox import Outgoing
from owner_agent.departures.refusals import known_entries
from owner_agent.masking.masking import Chosen, choose, masked_copies, outgoing
from owner_agent.release.leaving import Leaving
from owner_agent.site.site import Site
from owner_agent.state.keys import KeyStore
from pramana_core.mask import Masked
from pramana_core.progress import StagedProgress
from pramana_core.wire.releases.base import MASKED


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class MaskedNow(Leaving):
    """A table masked: `chosen` is the table and how it is masked, `copies` are the masked ones."""

    kind = MASKED
    command = "owner-agent mask --publish"
    section = "mask"

    chosen: Chosen
    copies: tuple[Masked, ...]

    @classmethod
    def of(cls, site: Site, watch: StagedProgress, /, *_how: object) -> Self:
        """Mask a site's table, in the one way that the site file says."""
        secrets = KeyStore(site.state).load()
        entries = known_entries(site.state)
        chosen = choose(site, secrets, watch)
        return cls(
            identity=chosen.identity,
            draws=recognized(chosen.draws, chosen.values, entries),
            entries=entries,
            values=chosen.values,
            records=len(chosen.keys),
            keys=chosen.keys,
            method=chosen.choice.method.name,
            dropped=chosen.table.dropped,
            chosen=chosen,
            copies=masked_copies(chosen, watch),
        )

    def outgoing(self) -> Outgoing:
        """Return the masked records."""
        return outgoing(self.chosen, self.copies)
