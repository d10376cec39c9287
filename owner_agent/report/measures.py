"""What a channel reveals, as data: bounds for every prior, and beliefs under one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from owner_agent.release.composition import Unbounded
from owner_agent.release.ledger import Draw
from owner_agent.report.thresholds import BELIEF, POSTERIOR
from pramana_core.channels import Transition
from pramana_core.errors import LimitExceeded, OptionError, SingularChannel
from pramana_core.marginals.counts import Tensor
from pramana_core.plan import Block
from pramana_core.privacy import (
    PRIOR,
    Amplification,
    AttackerAccuracy,
    KAnonymity,
    attacker_accuracy,
    conditional_entropy,
    downward_breach,
    gamma_within_groups,
    k_anonymity,
    upward_breach,
    worst_posterior,
)
from pramana_core.privacy.structures_of_columns import entropy

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
        told = Amplification.together(blocks)
        return cls(told, told.gamma)

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
    """What an attacker with a prior believes and guesses after a report; None: see `reasons`."""

    categories: int
    prior: tuple[float, ...] | None
    worst: tuple[float, ...] | None
    entropy: float | None
    entropy_left: float | None
    anonymity: KAnonymity | None
    accuracy: AttackerAccuracy | None
    upward: float | None
    downward: float | None
    reasons: Reasons = field(default_factory=dict)

    @classmethod
    def unknown(cls, categories: int, reason: str) -> Attack:
        """Return an attack that cannot be assessed, and why."""
        return cls(categories, *(None,) * 8, reasons={"posteriors": reason})

    def as_dict(self) -> dict[str, Any]:
        """Return JSON."""
        k, accuracy = self.anonymity, self.accuracy
        return {
            "entropy": self.entropy,
            "conditional_entropy": self.entropy_left,
            "k_anonymity": None if k is None else k.categories,
            "dist_k": None if k is None else k.least_divergence,
            "dist_k_worst": None if k is None else k.worst_divergence,
            "guess_blind": None if accuracy is None else accuracy.blind,
            "guess_expected": None if accuracy is None else accuracy.expected,
            "guess_worst": None if accuracy is None else accuracy.worst,
            "upward_breach": self.upward,
            "downward_breach": self.downward,
        }


def attack(channel: Transition, prior: Tensor | None, threshold: float) -> Attack:
    """Return what an attacker learns through a channel under a prior (None: uniform)."""
    reasons: Reasons = {}
    size = channel.shape[0]
    worst = attempt(reasons, "posteriors", lambda: _listed_posteriors(channel, prior))
    left = attempt(reasons, "conditional_entropy", lambda: conditional_entropy(channel, prior))
    before = None
    if prior is not None:
        before = entropy(prior)
    elif left is not None:
        # Over the possible categories, which the blind guess counts.
        before = -math.log2(attacker_accuracy(channel, None).blind)
    return Attack(
        categories=size,
        prior=None if worst is None else _listed_prior(prior, worst),
        worst=worst,
        entropy=before,
        entropy_left=left,
        anonymity=attempt(reasons, "k_anonymity", lambda: k_anonymity(channel, prior, threshold)),
        accuracy=attempt(reasons, "guess", lambda: attacker_accuracy(channel, prior)),
        upward=attempt(reasons, "upward_breach", lambda: _upward(channel, prior)),
        downward=attempt(reasons, "downward_breach", lambda: _downward(channel, prior)),
        reasons=reasons,
    )


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


def _listed_posteriors(channel: Transition, prior: Tensor | None) -> tuple[float, ...]:
    if channel.shape[0] > LISTED_CATEGORIES:
        raise LimitExceeded(
            f"The posteriors of {channel.shape[0]:,} categories are too many to print; the guess"
            " holds the largest."
        )
    return tuple(float(value) for value in worst_posterior(channel, prior))


def _listed_prior(prior: Tensor | None, worst: tuple[float, ...]) -> tuple[float, ...]:
    if prior is not None:
        return tuple(float(value) for value in prior)
    possible = np.array(worst) > 0
    return tuple(float(value) for value in possible / possible.sum())


def _upward(channel: Transition, prior: Tensor | None) -> float:
    grown = upward_breach(channel, prior, PRIOR)
    if grown == 0:
        raise OptionError(f"No category has a prior of {PRIOR:.0%} or less.")
    return grown


def _downward(channel: Transition, prior: Tensor | None) -> float:
    least = float(prior.max()) if prior is not None else attacker_accuracy(channel, None).blind
    if least < POSTERIOR:
        raise OptionError(f"No category has a prior of {POSTERIOR:.0%} or more.")
    return downward_breach(channel, prior, POSTERIOR)
