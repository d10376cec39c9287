"""What each column has lost by everything that left, and what a release would add."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from owner_agent.randomize.draws import draw_id
from owner_agent.release.composition import (
    Unbounded,
    conflicting,
    joined,
    losses,
    planned_draws,
    spent,
)
from owner_agent.release.ledger import Draw, Entry, Ledger
from owner_agent.site.planning import PlannedSite
from owner_agent.site.site import Site
from owner_agent.state.keys import KeyStore
from pramana_core.errors import KeyFileError
from pramana_core.report.numbers import bound, finite, plural
from pramana_core.report.report import Column, Section, Table


def loss_text(epsilon: float, forms: Sequence[str] = ()) -> str:
    """Write a column's loss: an epsilon, or the forms in which it left without one."""
    return f"no bound ({', '.join(forms)})" if forms else bound(epsilon)


def draw_text(draw: Draw) -> str:
    """Write what a column loses by one release."""
    return loss_text(draw.epsilon, Unbounded.of([draw]).forms(draw.column))


@dataclass(frozen=True)
class ColumnLoss:
    """The composed epsilon of a column before and after a release.

    Attributes:
        refused: whether publishing is refused unless the added loss is accepted.
        forms_before, forms_after: the forms, masked or in a shared tree, that no epsilon bounds.
    """

    column: str
    before: float
    after: float
    refused: bool
    forms_before: tuple[str, ...] = ()
    forms_after: tuple[str, ...] = ()

    @property
    def texts(self) -> tuple[str, str]:
        """The loss before and after."""
        return loss_text(self.before, self.forms_before), loss_text(self.after, self.forms_after)

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
    """The releases that may have left, and each column's loss with one more release.

    `keys_known` is whether the draws could be compared with those of earlier releases.
    """

    releases: int
    keys_known: bool
    columns: tuple[ColumnLoss, ...]

    @property
    def refused(self) -> tuple[str, ...]:
        """The columns whose added loss must be accepted."""
        return tuple(loss.column for loss in self.columns if loss.refused)

    def as_dict(self) -> dict[str, Any]:
        """Return JSON."""
        return {
            "releases": self.releases,
            "same_records_assumed": True,
            "draws_compared": self.keys_known,
            "columns": [column.as_dict() for column in self.columns],
        }

    def section(self, note: str) -> Section:
        """Return the section of a report on the columns that left before."""
        columns = (
            Column("column", lambda row: row["column"], number=False),
            Column("epsilon before", lambda row: row["before"]),
            Column("epsilon after", lambda row: row["after"]),
            Column("", lambda row: row["said"], number=False, high=lambda row: row["refused"]),
        )
        rows = [
            {
                "column": loss.column,
                "before": loss.texts[0],
                "after": loss.texts[1],
                "left": loss.before > 0,
                "refused": loss.refused,
                "said": "publish refuses it unless you accept the added loss"
                if loss.refused
                else "nothing added" * (loss.texts[0] == loss.texts[1]),
            }
            for loss in self.columns
        ]
        return Section(
            "Together with what left before",
            table=Table(columns, rows, brief=lambda row: row["left"]),
            notes=[f"{plural(self.releases, 'release')} may have left. {note}"],
        )


def losses_of(
    site: Site,
    plan: PlannedSite,
    one_secret: Mapping[str, Collection[str]] = MappingProxyType({}),
) -> Losses | None:
    """Return the loss of every column of the plan.

    None where nothing has left this site and no two columns are one secret. The records are taken
    to be those that left before; without keys every randomization counts as new.
    Raises StoreCorrupt.
    """
    entries = tuple(entry for entry in Ledger(site.state).entries() if entry.left)
    if not entries and not one_secret:
        return None
    known = known_draws(site, plan)
    return compare(joined(known or new_draws(plan), one_secret), entries, known is not None)


def compare(draws: Sequence[Draw], entries: Sequence[Entry], keys_known: bool = True) -> Losses:
    """Compose the draws of a release with everything that left."""
    left = [draw for entry in entries if entry.left for draw in entry.draws]
    before, after = losses(left, beside=draws), losses([*left, *draws])
    unbounded, then = Unbounded.of(left, beside=draws), Unbounded.of([*left, *draws])
    refused = {draw.column for draw in conflicting(draws, entries)}
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


def known_draws(site: Site, plan: PlannedSite) -> tuple[Draw, ...] | None:
    """Return the draws that publishing would make, or None without keys or a study.

    The records are taken to be those of the newest release under each draw.
    """
    if site.file.miner is None:
        return None
    try:
        secrets = KeyStore(site.state).load()
    except KeyFileError:
        return None
    ledger, study = Ledger(site.state), site.miner.study
    beginning = ledger.beginning
    newest = {d.draw_id: d.population for entry in ledger.entries() for d in entry.draws}
    identities = {b.name: draw_id(secrets, study, b, beginning) for b in plan.plan.blocks}
    return planned_draws(
        plan.plan.blocks,
        plan.columns,
        identities,
        lambda identity: newest.get(identity, "planned"),
    )


def new_draws(plan: PlannedSite) -> tuple[Draw, ...]:
    """Return a plan's draws as those of a new randomization."""
    blocks = plan.plan.blocks
    return planned_draws(blocks, plan.columns, {b.name: f"planned {b.digest}" for b in blocks})
