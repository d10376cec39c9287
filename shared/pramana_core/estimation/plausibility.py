"""Evidence that reports do not come from the declared channels, by bets on tables.

A bet with odds w pays w(report) >= 0 for each unit staked. The odds are fair if (P w)_l <= 1 for
each true value l. Their product over independent reports, or a mean of such products, reaches 1/p
with probability at most p (Markov).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from pramana_core.estimation.axes import Axis, Stratum, axes_of, moment, named
from pramana_core.estimation.likelihood import FactoredModel, climb, start
from pramana_core.marginals.counts import Codes, ReportedCounts, Tensor
from pramana_core.plan import Plan
from pramana_core.ties import first_largest, reaches

RATE = 0.001
"""The p-value up to which a release is called inconsistent."""

SHARES = (0.0, 1 / 8, 1 / 4, 1 / 2, 1.0)
"""The cuts between pieces of the records: the bets on a piece are learned from earlier pieces."""

PAIRS = 128
"""The maximum number of pairs of variables that are examined, neighbours in the plan first."""

PAIRS_TRIED = 8 * PAIRS
"""The maximum number of pairs that are tried in the search for small tables."""

COLUMN_CELLS, PAIR_CELLS = 1 << 16, 4096
"""Maximum number of cells in a variable's (or indivisible joint block's) table and in a pair's."""

RECORDS = 10_000_000
"""The maximum number of records that are examined."""

LISTED_ROWS = 1024
"""The largest matrix of a channel whose variables are examined, in rows."""

HINT = 1.0
"""The excess over chance, in standard deviations, above which bets are made."""

STEPS = 300
"""Maximum number of steps towards the most likely table; bets are fair wherever the climb ends."""

_BOLDEST, _TOLERANCE = 0.9, 0.5
_ROUNDING = 1e-12
_LOUDEST = 700.0


@dataclass(frozen=True)
class TableEvidence:
    """A table's variables, and the logarithm of the evidence against the declared channels."""

    variables: tuple[str, ...]
    log_evidence: float


@dataclass(frozen=True)
class Plausibility:
    """The evidence of the examined tables, and the number of omitted tables."""

    tables: tuple[TableEvidence, ...]
    left_out: int

    @property
    def p_value(self) -> float:
        """An upper bound on the probability of this much evidence if the release follows its plan.

        It is 0 if the reports are impossible under the plan.
        """
        logs = np.array([table.log_evidence for table in self.tables])
        if not logs.size:
            return 1.0
        total = float(np.logaddexp.reduce(logs)) - math.log(logs.size)
        return 0.0 if total == math.inf else math.exp(-min(max(total, 0.0), _LOUDEST))

    @property
    def inconsistent(self) -> bool:
        """Whether the release is marked as inconsistent.

        An honest release is marked with a probability of at most `RATE`.
        """
        return reaches(RATE, self.p_value)

    @property
    def worst(self) -> tuple[str, ...]:
        """The variables of the least plausible table, if any."""
        if not self.tables:
            return ()
        evidence = [table.log_evidence for table in self.tables]
        return self.tables[first_largest(evidence, scale=1.0)].variables


def examine(columns: Mapping[str, Codes], plan: Plan) -> Plausibility:
    """Weigh the evidence that reports do not come from a plan's declared channels.

    All single variables are examined and up to `PAIRS` pairs, chosen from the plan alone. The order
    of the records must not depend on their draws; the order of pseudonyms is such an order.
    """
    chosen, left_out = _tables(plan)
    names = [tuple(named(axes)) for axes in chosen]
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
    for candidates, most, limit in (
        (alone, COLUMN_CELLS, len(alone)),
        (pairs[:PAIRS_TRIED], PAIR_CELLS, PAIRS),
    ):
        found = len(chosen)
        for own in candidates:
            if len(chosen) - found >= limit or listed.intersection(own):
                continue
            axes = axes_of(plan, own)
            if max(math.prod(axis.channel.shape[side] for axis in axes) for side in (0, 1)) <= most:
                chosen.setdefault(tuple(named(axes)), axes)
                there += 1
    return list(chosen.values()), len(alone) + len(pairs) - there


def _evidence(counts: Sequence[Tensor], axes: Sequence[Axis]) -> float:
    """Return the logarithm of the gain from bets that are learned from earlier pieces."""
    channels = tuple(axis.channel for axis in axes)
    learned = Stratum(np.zeros([channel.shape[1] for channel in channels]), channels)
    anything = np.full((*learned.shape, 1), 1 / math.prod(learned.shape))
    impossible = learned.expected(anything).reshape(learned.reported.shape) <= 0
    won = 0.0
    for count in counts:
        piece = count.reshape(learned.reported.shape).astype(np.float64)
        if piece[impossible].any():
            return math.inf
        odds = _odds(learned)
        if odds is not None:
            # Unfair odds are scaled down to fair ones.
            most = float(learned.adjoint(odds.reshape(-1, 1)).max())
            won += float((piece * np.log(odds / max(1.0, most * (1 + _ROUNDING)))).sum())
        learned = Stratum(learned.reported + piece, channels)
    return won


def _odds(learned: Stratum) -> Tensor | None:
    """Return the odds of the bet, or None if nothing has contradicted the channels so far.

    Odds of n / P't, for reports n and the most likely true table t, grow fastest (Gruenwald, de
    Heide and Koolen 2024). They are shrunk by the share due to chance (James and Stein 1961).
    """
    reported, records = learned.reported, learned.records
    if records == 0:
        return None
    seen = reported[reported > 0]
    saturated = float((seen * np.log(seen / records)).sum())
    # The directions outside the image of true tables, with deviations twice the size of chance.
    true = math.prod(learned.shape)
    if learned.solvable and reported.size == true:
        true = int((moment([learned]) > 0).sum())
    chance = float(max(reported.size - true, 1))
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
    boldness = min(_BOLDEST, 1 - max(free, 1) / (2 * (saturated - reached)))
    if boldness <= 0:
        return None
    expected = learned.expected(best.probabilities).reshape(reported.shape) * records
    ratio = np.divide(reported, expected, out=np.zeros(reported.shape), where=expected > 0)
    odds: Tensor = 1 - boldness + boldness * ratio
    return odds
