"""Tables with noise: what a session tells of them, and what that costs in the ledger.

All tables that are disclosed for the first time share the session's epsilon. Those disclosed before
repeat their noise and cost nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from owner_agent.peer.counted import CountedColumns
from owner_agent.peer.exact import recalled
from owner_agent.peer.exchange.incoming import session_entry
from owner_agent.peer.memory import remember
from owner_agent.peer.noisy_tables import Draw as DrawNoise
from owner_agent.peer.noisy_tables import (
    KeptTable,
    NoiseMechanism,
    exact_table,
    keep_table,
    kept_table,
    layout_of,
    mechanism_for,
    shown,
    widened,
    with_noise,
)
from owner_agent.peer.protocol.messages import Proposal
from owner_agent.peer.tasks.holding import LocalRecords
from owner_agent.release.ledger import NOISE, Draw, Entry, Form, Ledger
from owner_agent.release.refusals import population_of, sketch_of
from owner_agent.site.mistakes import GaussianNoise, LaplaceNoise
from pramana_core.errors import Conflict, NoiseSpent
from pramana_core.marginals.tabulated_counts import NoisyCounts, NoisyTable


@dataclass(frozen=True, eq=False)
class NoisyTables:
    """What a session would tell with noise; see `RecordDisclosure`.

    Attributes:
        counts: the tables, from which all that is disclosed is made.
        before: the tables that were kept before the session, by digest; None if there was none.
        now: the tables as they will be kept: those that were not told before, and those that have
            cells now that they had not.
        columns: the own columns in tables that were not told before, with their names in the
            session.
    """

    counts: NoisyCounts
    before: dict[str, KeptTable | None]
    now: dict[str, KeptTable]
    columns: dict[str, str]

    @property
    def fresh(self) -> list[str]:
        """The digests of the tables that were not told before: what costs something."""
        return [digest for digest in self.now if self.before[digest] is None]

    def enter(self, holding: LocalRecords, proposal: Proposal, now: datetime) -> None:
        """Write the noise into the ledger and keep the tables, before they are disclosed.

        Raises:
            NoiseSpent: it would cost more than the site file allows.
            Conflict: another process of this site told one of the tables meanwhile.
        """
        state = holding.site.state
        for digest in self.now:
            if kept_table(state, digest) != self.before[digest]:
                raise _told_meanwhile(holding)
        # Also where nothing exact is disclosed: that the file is there is how its loss is noticed.
        remember(state, recalled(state), ())
        if self.fresh:
            demand = _demand(holding)
            require_affordable(holding, Ledger(state).entries())
            Ledger(state).add(self._entry(holding, proposal, demand.epsilon, now))
        for digest, table in self.now.items():
            keep_table(state, digest, table)

    def _entry(
        self, holding: LocalRecords, proposal: Proposal, epsilon: float, now: datetime
    ) -> Entry:
        told = hashlib.sha256("\n".join(sorted(self.fresh)).encode()).hexdigest()
        identity = f"{NOISE}{proposal.session}"
        population = population_of(holding.keys, identity, ())
        return replace(
            session_entry(holding, proposal, proposal.others(holding.site.owner), now),
            name=identity,
            content=told,
            digest=told,
            state="sending",
            draws=tuple(
                Draw(column, variable, identity, epsilon, Form.RANDOMIZED, population)
                for column, variable in self.columns.items()
            ),
            sketch=sketch_of(holding.keys),
        )


def noisy_tables(
    holding: LocalRecords,
    proposal: Proposal,
    counted: CountedColumns,
    families: Sequence[tuple[str, ...]],
    draw: DrawNoise = NoiseMechanism.draw,
) -> NoisyTables:
    """Return the tables of families with the noise that the site file demands.

    Args:
        holding: this owner's records.
        proposal: the session.
        counted: the columns that the families are made from.
        families: for each the columns whose table it is made from.
        draw: draws noise.

    Raises:
        NoiseSpent: it would cost more than the site file allows.
        NotInstalled: the library that draws it is not there.
        LimitExceeded: a table has too many cells.
    """
    layouts = {layout.digest: layout for layout in (layout_of(counted, f) for f in families)}
    before = {digest: kept_table(holding.site.state, digest) for digest in layouts}
    now: dict[str, KeptTable] = {}
    wanted = [digest for digest, kept in before.items() if kept is None]
    if wanted:
        require_affordable(holding, Ledger(holding.site.state).entries())
        mechanism = mechanism_for(_demand(holding), len(wanted))
        for digest in wanted:
            exact = exact_table(counted, layouts[digest].names)
            noise = draw(mechanism, exact.size)
            now[digest] = with_noise(exact, layouts[digest], noise, mechanism, proposal.session)
    for digest, kept in before.items():
        if kept is not None and (wider := widened(kept, layouts[digest], draw)) != kept:
            now[digest] = wider
    tables: dict[tuple[str, ...], NoisyTable] = {}
    for names in families:
        layout = layout_of(counted, names)
        table = now.get(layout.digest) or before[layout.digest]
        assert table is not None  # noqa: S101 - every digest is in one of the two
        tables[names] = shown(table, layout)
    own = {name for digest in wanted for name in layouts[digest].names if name in holding.names}
    columns = {holding.plan.columns[name]: name for name in holding.names if name in own}
    return NoisyTables(NoisyCounts(tables, len(holding.keys)), before, now, columns)


def noise_spent(entries: Sequence[Entry]) -> float:
    """Return the epsilon of all noise so far; every session may be about the same records."""
    spent = {
        draw.draw_id: draw.epsilon for entry in entries for draw in entry.draws if draw.is_noise
    }
    return sum(spent.values())


def require_affordable(holding: LocalRecords, entries: Sequence[Entry]) -> None:
    """Check that one more session's noise stays within what the site file allows in all.

    Raises:
        NoiseSpent: it does not.
    """
    demand, owner = _demand(holding), holding.site.owner
    after = noise_spent(entries) + demand.epsilon
    if after > demand.max_epsilon * (1 + 1e-12):
        raise NoiseSpent(
            f"{owner} does not share more counts: with this session they would cost epsilon"
            f" {after:.4g} in all, and {owner} allows {demand.max_epsilon:.4g}.",
            where=owner,
            remedy="Ask for the families of an earlier session, which cost nothing more, or let"
            f" {owner} raise max_epsilon in its [peer] section deliberately.",
        )


def _told_meanwhile(holding: LocalRecords) -> Conflict:
    owner = holding.site.owner
    return Conflict(
        f"Another process of {owner} shared some of the same counts meanwhile, with other noise.",
        where=owner,
        remedy="Begin another session: it sends them with the noise they had.",
    )


def _demand(holding: LocalRecords) -> LaplaceNoise | GaussianNoise:
    demand = holding.site.peer.noise
    assert demand is not None  # noqa: S101 - asked only where there is one
    return demand
