"""What each column has lost to earlier releases, and what it would have lost after this plan."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from owner_agent.randomize.draws import draw_id
from owner_agent.release.composition import (
    Unbounded,
    conflicting,
    losses,
    planned_draws,
    spent,
)
from owner_agent.release.corrections import is_drawn, newest_epoch
from owner_agent.release.ledger import Draw, Entry, Ledger
from owner_agent.report.measures import finite, loss_text
from owner_agent.site.planning import PlannedSite
from owner_agent.site.site import Site
from owner_agent.state.keys import KeyStore
from pramana_core.errors import KeyFileError
from pramana_core.plan import Block

_PLANNED = -1
"""Stands for the random epoch in which records would be drawn anew."""


@dataclass(frozen=True)
class ColumnLoss:
    """The composed epsilon of a column before and after; `refused`: only with accepted loss.

    A column that left masked or in a shared tree before, or after, has no epsilon that would bound
    it; `forms` has in words in which of these forms it left.
    """

    column: str
    before: float
    after: float
    refused: bool
    forms_before: tuple[str, ...] = ()
    forms_after: tuple[str, ...] = ()

    @property
    def texts(self) -> tuple[str, str]:
        """What was lost before, and what will have been lost after."""
        return (
            loss_text(self.before, self.forms_before),
            loss_text(self.after, self.forms_after),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return JSON; an infinite epsilon is null."""
        return {
            "column": self.column,
            "epsilon_before": finite(self.before),
            "epsilon_after": finite(self.after),
            "no_bound_before": list(self.forms_before),
            "no_bound_after": list(self.forms_after),
            "refused_without_accepting": self.refused,
        }


@dataclass(frozen=True)
class Losses:
    """What left, and what this plan adds; `keys_known` is whether draws could be compared."""

    releases: int
    keys_known: bool
    columns: tuple[ColumnLoss, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return JSON."""
        return {
            "releases": self.releases,
            "same_records_assumed": True,
            "draws_compared": self.keys_known,
            "columns": [column.as_dict() for column in self.columns],
        }


def losses_of(site: Site, plan: PlannedSite, renewed: Collection[str] = ()) -> Losses | None:
    """Return the loss of every column of the plan, or None where nothing has left this site.

    The records are taken to be those that left before: under other record ids the same draw would
    be another loss, which `publish` finds out. Without keys every randomization counts as new.

    Args:
        site: the site.
        plan: its plan.
        renewed: the blocks of which all records would be drawn anew.

    Raises:
        StoreCorrupt: the ledger cannot be read, or is lost.
    """
    entries = tuple(entry for entry in Ledger(site.state).entries() if entry.left)
    if not entries:
        return None
    draws = known_draws(site, plan, renewed)
    anew = {plan.columns[n] for b in plan.plan.blocks if b.name in renewed for n in b.names}
    return compare(draws or new_draws(plan), entries, keys_known=draws is not None, anew=anew)


def compare(
    draws: Sequence[Draw],
    entries: Sequence[Entry],
    *,
    keys_known: bool,
    anew: Collection[str] = (),
) -> Losses:
    """Compose the planned draws with everything that left.

    Args:
        draws: the planned draws.
        entries: what left.
        keys_known: whether draws could be compared.
        anew: columns that the custodian chose to have drawn anew.
    """
    left = [draw for entry in entries if entry.left for draw in entry.draws]
    before, after = losses(left, beside=draws), losses([*left, *draws])
    unbounded, then = Unbounded.of(left, beside=draws), Unbounded.of([*left, *draws])
    refused = {draw.column for draw in conflicting(draws, entries)} - set(anew)
    columns = tuple(
        ColumnLoss(
            column,
            before[column],
            after[column],
            column in refused,
            unbounded.forms(column),
            then.forms(column),
        )
        for column in dict.fromkeys([*spent(entries), *(draw.column for draw in draws)])
    )
    return Losses(len(entries), keys_known, columns)


def known_draws(
    site: Site, plan: PlannedSite, renewed: Collection[str] = ()
) -> tuple[Draw, ...] | None:
    """Return the draws that publishing would make, or None without keys or a study.

    The records are taken to be those of the newest release under each draw, but for the `renewed`
    blocks, of which all records would be drawn anew.
    """
    if site.file.miner is None:
        return None
    try:
        secrets = KeyStore(site.state).load()
    except KeyFileError:
        return None
    entries = Ledger(site.state).entries()
    beginning = Ledger(site.state).beginning
    newest = {d.draw_id: d.population for entry in entries for d in entry.draws}
    study = site.miner.study

    def epoch(block: Block) -> int:
        if block.name in renewed:
            return _PLANNED
        drawn = is_drawn(block)
        return newest_epoch(entries, secrets, study, block, beginning) if drawn else 0

    identities = {b.name: draw_id(secrets, study, b, epoch(b)) for b in plan.plan.blocks}
    return planned_draws(
        plan.plan.blocks,
        plan.columns,
        identities,
        lambda identity: newest.get(identity, "planned"),
    )


def new_draws(plan: PlannedSite) -> tuple[Draw, ...]:
    """Return a plan's draws as those of a randomization that never was."""
    blocks = plan.plan.blocks
    identities = {block.name: f"planned {block.digest}" for block in blocks}
    return planned_draws(blocks, plan.columns, identities)
