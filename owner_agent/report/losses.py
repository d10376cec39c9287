"""What blocks tell: bounds for every prior, beliefs under one, and the losses of columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

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
from owner_agent.report.thresholds import BELIEF, POSTERIOR, THRESHOLD
from owner_agent.site.planning import PlannedSite
from owner_agent.site.site import Site
from owner_agent.state.keys import KeyStore
from pramana_core.channels import Transition
from pramana_core.errors import KeyFileError, LimitExceeded, OptionError, SingularChannel
from pramana_core.plan import Block
from pramana_core.privacy import (
    PRIOR,
    Amplification,
    attacker_accuracy,
    conditional_entropy,
    gamma_within_groups,
    k_anonymity,
    worst_posterior,
)

LISTED_CATEGORIES = 1000
"""Posteriors of more categories are not listed one by one."""

T = TypeVar("T")
Reasons = dict[str, str]
"""Why a measure has no value, by the measure's name."""


def attempt(reasons: Reasons, name: str, compute: Callable[[], T]) -> T | None:
    """Return what is computed, or None and the reason under `name`."""
    try:
        return compute()
    except (SingularChannel, LimitExceeded, OptionError) as error:
        reasons[name] = error.message
        return None


@dataclass(frozen=True)
class Bounds:
    """What holds for every prior, and gamma for who knows the group; both may be infinite."""

    told: Amplification
    gamma_within: float

    @classmethod
    def of(cls, channel: Transition) -> Bounds:
        """Return a channel's bounds. Raises LimitExceeded."""
        return cls(Amplification.of(channel), gamma_within_groups(channel))

    @classmethod
    def together(cls, blocks: Sequence[Block]) -> Bounds:
        """Return the bounds about all variables of several blocks at once. Raises LimitExceeded."""
        amplification = Amplification.together(blocks)
        return cls(amplification, amplification.gamma)

    @property
    def rho2(self) -> float:
        """The largest posterior of a prior of `PRIOR`."""
        return self.told.grown(PRIOR)

    def as_dict(self) -> dict[str, Any]:
        """Return JSON; an infinite number is null, which JSON has no other word for."""
        return {
            "gamma": finite(self.told.gamma),
            "gamma_within_groups": finite(self.gamma_within),
            "epsilon": finite(self.told.epsilon),
            "rho_2": self.rho2,
            "rho_1": self.told.fallen(POSTERIOR),
            "falls_to": self.told.fallen(BELIEF),
        }


@dataclass(frozen=True)
class Attack:
    """What an attacker to whom all categories are as likely believes and guesses after a report.

    `figures` are the measures by name; what is None has its reason in `reasons`.
    """

    prior: tuple[float, ...] | None
    worst: tuple[float, ...] | None
    figures: Mapping[str, float | None]
    reasons: Reasons = field(default_factory=dict)

    @classmethod
    def unknown(cls, reason: str) -> Attack:
        """Return an attack that cannot be assessed, and why."""
        return cls(None, None, dict.fromkeys(MEASURES), {"posteriors": reason})


MEASURES = (
    "entropy",
    "conditional_entropy",
    "k_anonymity",
    "dist_k",
    "dist_k_worst",
    "guess_blind",
    "guess_expected",
    "guess_worst",
)


def attack(channel: Transition) -> Attack:
    """Return what an attacker learns through a channel, to whom all categories are as likely."""
    reasons: Reasons = {}
    worst = attempt(reasons, "posteriors", lambda: _listed_posteriors(channel))
    left = attempt(reasons, "conditional_entropy", lambda: conditional_entropy(channel))
    k = attempt(reasons, "k_anonymity", lambda: k_anonymity(channel, THRESHOLD))
    guess = attempt(reasons, "guess", lambda: attacker_accuracy(channel))
    known = None if k is None else (k.categories, k.least_divergence, k.worst_divergence)
    guesses = None if guess is None else (guess.blind, guess.expected, guess.worst)
    # Over the possible categories, which the blind guess counts.
    before = None if left is None or guess is None else -math.log2(guess.blind)
    figures = zip(
        MEASURES, (before, left, *(known or [None] * 3), *(guesses or [None] * 3)), strict=True
    )
    possible = np.array(worst or ()) > 0
    prior = None if worst is None else tuple((possible / possible.sum()).tolist())
    return Attack(prior, worst, dict(figures), reasons)


def finite(value: float) -> float | None:
    """Return a number as JSON has it: null where it is infinite."""
    return value if math.isfinite(value) else None


def number(value: float) -> str:
    """Write a number with four digits, or the sign of infinity."""
    return "∞" if value == float("inf") else f"{value:.4g}"


def loss_text(epsilon: float, forms: Sequence[str] = ()) -> str:
    """Write what a column has lost: an epsilon, or the forms in which it left without one."""
    return f"no bound ({', '.join(forms)})" if forms else number(epsilon)


def draw_text(draw: Draw) -> str:
    """Write what a column loses by one release."""
    return loss_text(draw.epsilon, Unbounded.of([draw]).forms(draw.column))


def _listed_posteriors(channel: Transition) -> tuple[float, ...]:
    if channel.shape[0] > LISTED_CATEGORIES:
        raise LimitExceeded(
            f"The posteriors of {channel.shape[0]:,} categories are too many to print; the guess"
            " holds the largest."
        )
    return tuple(float(value) for value in worst_posterior(channel))


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

    @property
    def sentence(self) -> str:
        """What was lost before and will have been after."""
        refused = "; publish refuses it unless you accept the loss" if self.refused else ""
        before, after = self.texts
        return f"{self.column} left before: epsilon {before}, after this {after}{refused}."

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


def losses_of(
    site: Site,
    plan: PlannedSite,
    one_secret: Mapping[str, Collection[str]] = MappingProxyType({}),
) -> Losses | None:
    """Return the loss of every column of the plan.

    None where nothing has left this site and no two columns are one secret.

    The records are taken to be those that left before: under other record ids the same draw would
    be another loss, which `publish` finds out. Without keys every randomization counts as new.
    Raises StoreCorrupt.
    """
    entries = tuple(entry for entry in Ledger(site.state).entries() if entry.left)
    if not entries and not one_secret:
        return None
    known = known_draws(site, plan)
    draws = joined(known or new_draws(plan), one_secret)
    return compare(draws, entries, keys_known=known is not None)


def compare(
    draws: Sequence[Draw],
    entries: Sequence[Entry],
    *,
    keys_known: bool,
) -> Losses:
    """Compose the planned draws with everything that left."""
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
    entries = Ledger(site.state).entries()
    beginning = Ledger(site.state).beginning
    newest = {d.draw_id: d.population for entry in entries for d in entry.draws}
    study = site.miner.study
    identities = {b.name: draw_id(secrets, study, b, beginning) for b in plan.plan.blocks}
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
