"""Evidence against declared channels from one table of reports, as what fair bets against them win.

Odds w(report) >= 0 are fair if their mean is 1 at most under every truth: (P w)_l <= 1 for each l.
The product of fair odds over independent reports then has a mean of 1 at most, whatever the true
values of the records are and however many there are (an e-value): it is 1/p or more with
probability p at most (Markov). So is a mean of such products, however they depend on each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pramana_core.channels import CONDITION_LIMIT, Listed, Transition
from pramana_core.estimation.core.likelihood import climb, start
from pramana_core.estimation.core.models import FactoredModel
from pramana_core.estimation.core.strata import Stratum, moment
from pramana_core.marginals.counts import Tensor

SHARES = (0.0, 1 / 8, 1 / 4, 1 / 2, 1.0)
"""Where records are cut into pieces: on each is bet what was learned from those before it."""

_ROUNDING = 1e-12
_LISTED = 1 << 16


@dataclass(frozen=True)
class Betting:
    """How odds are found; that they are fair does not depend on it.

    Bets are made where what was seen is `hint` standard deviations beyond what chance explains.
    """

    tolerance: float = 0.5
    steps: int = 300
    boldest: float = 0.9
    hint: float = 1.0


def evidence(pieces: Sequence[Tensor], channels: tuple[Transition, ...], betting: Betting) -> float:
    """Return the logarithm of what is won by betting on each piece what those before it tell.

    Args:
        pieces: reported counts of parts of the records, cut at `SHARES` without looking at them; an
            axis per channel.
        channels: what is declared.
        betting: how odds are found.
    """
    channels = tuple(map(_listed, channels))
    won = 0.0
    learned = np.zeros_like(pieces[0])
    for piece in pieces:
        odds = _odds(Stratum(learned, channels), betting)
        if odds is not None:
            won += _won(Stratum(piece, channels), odds)
        learned = learned + piece
    return won


def _listed(channel: Transition) -> Transition:
    if channel.mixture is not None or math.prod(channel.shape) > _LISTED:
        return channel
    return Listed(channel.matrix())


def _won(reported: Stratum, odds: Tensor) -> float:
    """Return the logarithm of what odds win on reports; they are made fair if they are not."""
    fair = max(1.0, float(reported.adjoint(odds.reshape(-1, 1)).max()) * (1 + _ROUNDING))
    return float((reported.reported * np.log(odds / fair)).sum())


def _odds(learned: Stratum, betting: Betting) -> Tensor | None:
    """Return the odds to bet at, or None where nothing speaks against the channels so far.

    With n the reports learned from and t the most likely true table, n / P't is fair and grows
    fastest (the reverse information projection: Gruenwald, de Heide and Koolen 2024, Safe testing);
    that it is fair is what certifies the maximum in `pramana_core.estimation.core.likelihood`. The
    odds are drawn towards 1 by the share of the distance from the image that chance alone explains
    (James and Stein 1961).
    """
    reported = learned.reported
    records = float(reported.sum())
    if records == 0:
        return None
    seen = reported[reported > 0]
    saturated = float((seen * np.log(seen / records)).sum())
    chance = _chance(learned)
    enough = saturated - (chance + betting.hint * math.sqrt(2 * chance)) / 2
    best = climb(
        [learned],
        FactoredModel(learned.shape),
        start([learned])[0],
        tolerance=betting.tolerance,
        steps=betting.steps,
        enough=enough,
    )
    reached = float(best.log_likelihood[0])
    if reached >= enough:
        return None
    free = reported.size - int((best.table * records > 1).sum())
    distance = 2 * (saturated - reached)
    boldness = min(betting.boldest, 1 - max(free, 1) / distance)
    if boldness <= 0:
        return None
    expected = learned.expected(best.probabilities).reshape(reported.shape) * records
    ratio = np.divide(reported, expected, out=np.zeros(reported.shape), where=expected > 0)
    odds: Tensor = 1 - boldness + boldness * ratio
    return odds


def _chance(learned: Stratum) -> float:
    """Return about how far from the image (twice the log-likelihood) chance alone brings reports.

    It is the number of directions in which the image ends or does not extend.
    """
    true = math.prod(learned.shape)
    if learned.reported.size == true and all(
        c.condition_number <= CONDITION_LIMIT for c in learned.channels
    ):
        true = int((moment([learned]) > 0).sum())
    return float(max(learned.reported.size - true, 1))
