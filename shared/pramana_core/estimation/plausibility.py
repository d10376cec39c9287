"""Whether reports can have come from the declared channels: evidence against it, by tables.

Under the declared channels the reports of any true table are spread as P' of that table. What no
true table gives speaks against the declaration, and is weighed by bets whose error rate holds for
any number of records and any true values, without an approximation.

Odds w(report) >= 0 are fair if their mean is 1 at most under every truth: (P w)_l <= 1 for each
l. The product of fair odds over independent reports then has a mean of 1 at most, whatever the
true values of the records are and however many there are (an e-value): it is 1/p or more with
probability p at most (Markov). So is a mean of such products, however they depend on each other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from pramana_core.channels import CONDITION_LIMIT, Listed, Transition
from pramana_core.estimation.axes import Axis, Stratum, axes_of, moment
from pramana_core.estimation.likelihood import FactoredModel, climb, start
from pramana_core.marginals.counts import Codes, ReportedCounts, Tensor
from pramana_core.plan import Plan
from pramana_core.ties import first_largest, reaches

RATE = 0.001
"""A release is called inconsistent at a p-value of at most this: honest ones at most so often."""

SHARES = (0.0, 1 / 8, 1 / 4, 1 / 2, 1.0)
"""Where records are cut into pieces: on each is bet what was learned from those before it."""

PAIRS = 128
"""At most this many pairs of variables are examined, neighbours in the plan first."""

PAIRS_TRIED = 8 * PAIRS
"""After so many pairs the search for small ones ends: joint blocks can make each of them large."""

COLUMN_CELLS = 1 << 16
"""The largest table of one variable (or of a joint block that cannot be taken apart)."""

PAIR_CELLS = 4096
"""The largest table of a pair."""

RECORDS = 10_000_000
"""Of more records the first so many are examined."""

LISTED_ROWS = 1024
"""Variables whose channel must be listed in a larger matrix are not examined."""

HINT = 1.0
"""Bets are made where reports are so many standard deviations beyond what chance explains."""

STEPS = 300
"""The most steps of a climb to the likeliest table; bets are fair wherever it ends."""

_BOLDEST, _TOLERANCE = 0.9, 0.5
_ROUNDING = 1e-12
_LISTED = 1 << 16
_LOUDEST = 700.0


@dataclass(frozen=True)
class TableEvidence:
    """One table: its variables, and the logarithm of the evidence against the declared channels.

    The evidence is a number that is 1 at most in the mean, whatever the true values are.
    """

    variables: tuple[str, ...]
    log_evidence: float


@dataclass(frozen=True)
class Plausibility:
    """What was found of a release: the tables examined, and how many were left out."""

    tables: tuple[TableEvidence, ...]
    left_out: int

    @property
    def p_value(self) -> float:
        """A bound of the probability of so much evidence, over all tables, under the declaration.

        The mean of the tables' evidence is 1 at most in the mean too, however the tables depend on
        each other, and so at least 1/p with probability p at most (Markov). It is 0 only where
        some report is impossible.
        """
        logs = np.array([table.log_evidence for table in self.tables])
        if not logs.size:
            return 1.0
        total = float(np.logaddexp.reduce(logs)) - math.log(logs.size)
        return 0.0 if total == math.inf else math.exp(-min(max(total, 0.0), _LOUDEST))

    @property
    def inconsistent(self) -> bool:
        """Whether the reports are marked; honest ones are with probability `RATE` at most."""
        return reaches(RATE, self.p_value)

    @property
    def worst(self) -> tuple[str, ...]:
        """The variables of the least plausible table; none where none was examined."""
        if not self.tables:
            return ()
        evidence = [table.log_evidence for table in self.tables]
        return self.tables[first_largest(evidence, scale=1.0)].variables


def examine(columns: Mapping[str, Codes], plan: Plan) -> Plausibility:
    """Weigh the evidence that reports were not made by the channels that a plan declares.

    All single variables are examined and up to `PAIRS` pairs, chosen by the plan alone.

    Args:
        columns: reported codes by variable, in an order that has nothing to do with the draws, as
            that of pseudonyms.
        plan: what is declared.
    """
    chosen, left_out = _tables(plan)
    names = list(map(_names, chosen))
    records = min(len(next(iter(columns.values()))), RECORDS)
    pieces = []
    for begin, end in pairwise(sorted({int(share * records) for share in SHARES})):
        part = {name: columns[name][begin:end] for name in plan.reported_sizes}
        pieces.append(ReportedCounts(part, plan.reported_sizes).tables(names))
    found = [
        TableEvidence(own, _evidence(counts, axes))
        for own, axes, *counts in zip(names, chosen, *pieces, strict=True)
    ]
    return Plausibility(tuple(found), left_out)


def _tables(plan: Plan) -> tuple[list[list[Axis]], int]:
    """Return the tables to examine, and how many are left out for their size or number.

    They are those of randomized variables, and of pairs with one, near ones first, of which some
    records report both.
    """
    blocks = [block for block in plan.blocks if not block.channel.withheld]
    names = [name for block in blocks for name in block.names]
    exact = {name for block in blocks if block.channel.is_identity for name in block.names}
    listed = {n for b in blocks if b.channel.listed_rows > LISTED_ROWS for n in b.names}
    alone = [(name,) for name in names if name not in exact]
    pairs = [
        pair
        for distance in range(1, len(names))
        for pair in zip(names, names[distance:], strict=False)
        if not exact.issuperset(pair) and plan.reports_together(pair)
    ]
    chosen: dict[tuple[str, ...], list[Axis]] = {}
    there = 0
    for asked, most, limit in (
        (alone, COLUMN_CELLS, len(alone)),
        (pairs[:PAIRS_TRIED], PAIR_CELLS, PAIRS),
    ):
        found = len(chosen)
        for own in asked:
            if len(chosen) - found >= limit or listed.intersection(own):
                continue
            axes = axes_of(plan, own)
            if max(math.prod(axis.channel.shape[side] for axis in axes) for side in (0, 1)) <= most:
                chosen.setdefault(_names(axes), axes)
                there += 1
    return list(chosen.values()), len(alone) + len(pairs) - there


def _names(axes: list[Axis]) -> tuple[str, ...]:
    return tuple(v.name for axis in axes for v in axis.variables)


def _evidence(counts: Sequence[npt.NDArray[np.int64]], axes: list[Axis]) -> float:
    """Return the logarithm of a table's evidence."""
    pieces = []
    for count in counts:
        piece, impossible = _possible_reports(count, axes)
        if impossible:
            return math.inf
        pieces.append(piece)
    return evidence(pieces, tuple(axis.channel for axis in axes))


def _possible_reports(counts: npt.NDArray[np.int64], axes: list[Axis]) -> tuple[Tensor, bool]:
    """Return the counts of the reports, and whether there are some that no truth makes."""
    table = counts.reshape([axis.channel.shape[1] for axis in axes])
    found = Stratum(table.astype(np.float64), tuple(axis.channel for axis in axes))
    anything = np.full((*found.shape, 1), 1 / math.prod(found.shape))
    return found.reported, bool(np.any(found.column[found.expected(anything) <= 0]))


def evidence(pieces: Sequence[Tensor], channels: tuple[Transition, ...]) -> float:
    """Return the logarithm of what is won by betting on each piece what those before it tell.

    Args:
        pieces: reported counts of parts of the records, cut at `SHARES` without looking at them; an
            axis per channel.
        channels: what is declared.
    """
    channels = tuple(map(_listed, channels))
    won = 0.0
    learned = np.zeros_like(pieces[0])
    for piece in pieces:
        odds = _odds(Stratum(learned, channels))
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


def _odds(learned: Stratum) -> Tensor | None:
    """Return the odds to bet at, or None where nothing speaks against the channels so far.

    With n the reports learned from and t the most likely true table, n / P't is fair and grows
    fastest (the reverse information projection: Gruenwald, de Heide and Koolen 2024, Safe testing);
    that it is fair is what certifies the maximum in `pramana_core.estimation.likelihood`. The
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
    enough = saturated - (chance + HINT * math.sqrt(2 * chance)) / 2
    best = climb(
        [learned],
        FactoredModel(learned.shape),
        start([learned])[0],
        tolerance=_TOLERANCE,
        steps=STEPS,
        enough=enough,
    )
    reached = float(best.log_likelihood[0])
    if reached >= enough:
        return None
    free = reported.size - int((best.table * records > 1).sum())
    distance = 2 * (saturated - reached)
    boldness = min(_BOLDEST, 1 - max(free, 1) / distance)
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
