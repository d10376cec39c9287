"""Randomized records as they leave: read, drawn or reported as before, and named by their draws."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Self

from owner_agent.randomize.draws import random_epoch
from owner_agent.release.composition import planned_draws
from owner_agent.release.corrections import CorrectedRelease, ReleaseHistory, settle
from owner_agent.release.delivery import Delivery
from owner_agent.release.fingerprints import known_names, recognized
from owner_agent.release.leaving import Leaving
from owner_agent.release.ledger import Draw
from owner_agent.release.options import PublishOptions
from owner_agent.release.outbox import DrawIdentities, Outgoing
from owner_agent.release.refusals import known_entries, population_of, refuse_conflicts
from owner_agent.release.table_records import TableRecords
from owner_agent.site.planning import PlannedSite, planned
from owner_agent.site.site import Site
from owner_agent.state.environment import Environment
from owner_agent.state.keys import KeyStore, linkage_fingerprint
from owner_agent.table.table import CHUNK_ROWS
from pramana_core.plan import Plan
from pramana_core.progress import StagedProgress
from pramana_core.wire.releases.base import RANDOMIZED


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class PreparedRecords(Leaving):
    """A table randomized under its plan; `past` is what left before, `linkage` names the secret."""

    kind = RANDOMIZED
    command = "owner-agent publish"

    plan: PlannedSite
    settled: CorrectedRelease
    past: ReleaseHistory
    linkage: str

    @classmethod
    def of(
        cls,
        site: Site,
        watch: StagedProgress,
        options: PublishOptions,
        environment: Environment,
        /,
    ) -> Self:
        """Randomize a site's table; what was reported before is reported again.

        Raises:
            RecordsCorrected: records would be reported differently and nothing is chosen.
            HistoryLost: what left before is not remembered.
        """
        plan = planned(site)
        secrets, study = KeyStore(site.state).load(), site.miner.study
        entries = known_entries(site.state)
        known = known_names(secrets.draw, entries)
        records = TableRecords(site, study, plan, secrets, watch, CHUNK_ROWS, known)
        past = ReleaseHistory.of(site.state, entries, secrets, study)
        choice = options.corrections or site.file.corrections
        epoch = random_epoch(environment.random_bytes)
        settled = settle(plan.plan, records, past, choice, epoch)
        keys, values = settled.randomized.keys, records.values
        if values is None:
            raise ValueError("the records were drawn")
        among = partial(population_of, keys, entries=entries)
        draws = planned_draws(
            plan.plan.blocks, plan.columns, settled.identities, among, settled.epochs
        )
        return cls(
            identity=settled.randomized.digest,
            draws=recognized(draws, values, entries),
            entries=entries,
            values=values,
            records=len(keys),
            keys=keys,
            beginning=past.beginning,
            stale=settled.kept,
            renewed=tuple(c.block for c in settled.corrections if c.renewed),
            plan=plan,
            settled=settled,
            past=past,
            linkage=linkage_fingerprint(secrets.linkage, study),
        )

    def outgoing(self) -> Outgoing:
        """Return the reports, and what is said of their draws."""
        told = told_draws(self.plan.plan, self.draws)
        return Outgoing.of(self.settled.randomized, self.linkage, told)

    def require_allowed(self, *, accept_added_loss: bool) -> None:
        """Check as for all, but for the draws that were chosen in the place of earlier ones."""
        if not accept_added_loss:
            refuse_conflicts(self.draws, self.entries, self.settled.renewed)

    def before_announcing(self, delivery: Delivery) -> None:
        """Check that the miner has the plan that this owner adopted, and remember the reports."""
        delivery.require_agreed(self.plan.adopted)
        # The manifest holds digests of the reports: who guesses them could check the guess.
        self.settled.remember(self.past, self.identity)


def told_draws(plan: Plan, draws: Sequence[Draw]) -> DrawIdentities:
    """Return what tells the miner which draws these are: two opaque identities per block, in order.

    Those of the draws are equal in two releases exactly if every record's draw is the same, so that
    the second adds nothing to what the study tells. The population is part of them: the same people
    under other record ids have other draws. Which population it is the ledger knows, so an agent
    that lost its ledger tells others. The keyed ones hang on the key, the block and the epoch
    alone: records of two releases that have them in common can be compared.
    """
    by_variable = {draw.variable: draw for draw in draws}
    firsts = [by_variable[block.names[0]] for block in plan.blocks]
    return DrawIdentities(
        tuple(_told(b"pramana/told/1", *draw.identity) for draw in firsts),
        tuple(_told(b"pramana/told-keyed/1", draw.draw_id) for draw in firsts),
    )


def _told(about: bytes, *parts: str) -> str:
    return hashlib.sha256(about + b"\x00" + "\x00".join(parts).encode()).hexdigest()
