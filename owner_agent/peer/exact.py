"""Exact tables: what must hold before they are disclosed, and the memory of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from owner_agent.peer.counted import CountedColumns, counted_from
from owner_agent.peer.floor import (
    ColumnDisclosure,
    require_enough,
    require_enough_before,
    shared_nodes,
    tellings,
)
from owner_agent.peer.memory import (
    Disclosure,
    added,
    disclosures,
    remember,
    require_few,
)
from owner_agent.peer.protocol.messages import Proposal
from owner_agent.peer.session import all_kept
from owner_agent.peer.tasks.catalogue import learners, task_of
from owner_agent.peer.tasks.holding import LocalRecords
from pramana_core.learn.networks.bayes_net import LearnedFamily


@dataclass(frozen=True)
class ExactTables:
    """What a session would tell exactly; see `RecordDisclosure`."""

    tellings: tuple[ColumnDisclosure, ...]

    def enter(self, holding: LocalRecords, proposal: Proposal, now: datetime) -> None:
        """Write down what is disclosed now, unless that would be too much.

        Raises:
            OtherGroupings: a column would be disclosed by more groupings than the site file allows.
            StoreCorrupt: what was disclosed before cannot be read.
        """
        known = recalled(holding.site.state)
        remember(holding.site.state, known, self._more(holding, proposal, known, now))

    def _more(
        self, holding: LocalRecords, proposal: Proposal, known: list[Disclosure], now: datetime
    ) -> list[Disclosure]:
        more = added(known, self.tellings, study=proposal.study, session=proposal.session, now=now)
        require_few(holding.site.owner, known, more, holding.site.peer.groupings)
        return more

    def require_allowed(self, holding: LocalRecords, proposal: Proposal, now: datetime) -> None:
        """Check that `enter` would allow it; nothing is written. Raises as that does."""
        self._more(holding, proposal, recalled(holding.site.state), now)


def exact_tables(
    holding: LocalRecords,
    proposal: Proposal,
    counted: CountedColumns,
    families: Sequence[LearnedFamily],
    now: datetime,
) -> ExactTables:
    """Return what telling some families would tell, if that is allowed.

    Whether the groups are new is asked before anything is counted: once a column has been told by
    as many groupings as are allowed, no refusal depends on its values any more.

    Raises:
        OtherGroupings: a column would be disclosed by more groupings than the site file allows.
        SmallCounts: a table has a cell of fewer records than the site file demands.
        StoreCorrupt: what was disclosed before cannot be read.
    """
    tables = [counted.names(family.node, family.parents) for family in families]
    at_best = ExactTables(tellings(holding, counted, tables, floor=0))
    at_best.require_allowed(holding, proposal, now)
    require_enough(holding, proposal, families, counted)
    told = ExactTables(tellings(holding, counted, tables, holding.site.peer.smallest_count))
    told.require_allowed(holding, proposal, now)
    return told


def require_tellable_before(holding: LocalRecords, proposal: Proposal, now: datetime) -> None:
    """Check what is this owner's alone, before anything is announced.

    What the peers' columns are is not known yet; that this owner's own records or values are others
    than before is.

    Raises:
        SmallCounts: a family would be refused, whatever the peers send.
        OtherGroupings: a column would be refused, whatever the peers send.
        StoreCorrupt: what was disclosed before cannot be read.
    """
    site = holding.site
    if not task_of(proposal).shared or site.owner not in learners(proposal) or site.peer.noise:
        return
    own = [(name,) for name in shared_nodes(holding, proposal)]
    alone = ExactTables(tellings(holding, counted_from(holding, []), own, floor=0))
    alone.require_allowed(holding, proposal, now)
    require_enough_before(holding, proposal)


def recalled(state: Path) -> list[Disclosure]:
    """Return all that sessions disclosed exactly. Raises StoreCorrupt."""
    sessions = [one.proposal.session for one in all_kept(state) if one.families]
    return disclosures(state, sessions)
