"""What masking would release, what it is good for and what it gives away, before it leaves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from owner_agent.release.masked import LETTERS, PreparedMask, protection
from owner_agent.report.releases import ReleaseReport
from pramana_core.mask.core.cautions import Caution, Gravity, below_zero, gravest_first
from pramana_core.mask.core.influence import Influence
from pramana_core.mask.measures import Measure, Measures, measure_all
from pramana_core.mixed.table import numeric_table
from pramana_core.progress import StagedProgress

LINES_ONLY = "-lines-only"
"""Ends the names of measures that call a curve over what is told a gain from what is masked."""

FIRST = 5
"""How many of the records that are disclosed most are shown, named or not."""

MOST_NAMED = 100
"""Of more that are to be named, these."""


@dataclass(frozen=True)
class NamedRecord:
    """A record and what of its masked value is its own, in the column where it is most.

    Attributes:
        record_id: whose it is, for the owner's eyes.
        column: the confidential column.
        own: how much the masked value moves with the true one.
        noise: the standard deviation of its noise, in those of what the told columns leave.
        told: the share of what they leave that the masked value tells.
        exposed: whether that is so much that it is named.
    """

    record_id: str
    column: str
    own: float
    noise: float
    told: float
    exposed: bool


@dataclass(frozen=True, eq=False, repr=False)
class MaskReport(ReleaseReport[PreparedMask]):
    """What masking would release; `measures` are of the first copy: the others are drawn alike."""

    measures: Measures

    @property
    def headline(self) -> tuple[str, ...]:
        """What would be released, and which relationships are kept."""
        chosen = self.now.chosen
        method, told = chosen.choice.method, ", ".join(chosen.table.told.names) or "nothing"
        advice = chosen.choice.recommendation
        how = "named in the site file" if advice is None else "recommended for this table"
        copies = f", {chosen.copies} copies" if chosen.copies > 1 else ""
        masked = ", ".join(chosen.table.confidential.names)
        first = (
            f"{len(chosen.keys):,} records: {masked} masked by {method.name} ({how}{copies}); told"
            f" as they are: {told}."
        )
        return first, LETTERS, method.keeps if advice is None else advice.sentence

    @property
    def influence(self) -> Influence | None:
        """What of masked values is their records' own; None where the method predicts nothing."""
        return self.now.copies[0].influence

    @property
    def leverage(self) -> float | None:
        """The largest weight of a record's own value in its masked one."""
        return None if self.influence is None else float(self.influence.weights.max())

    @property
    def exposed(self) -> int:
        """How many records are to be named, whether or not all of them are shown."""
        return 0 if self.influence is None else int(np.count_nonzero(self.influence.exposed))

    @property
    def named(self) -> tuple[NamedRecord, ...]:
        """The records that are disclosed most, by their ids.

        Those to be named, up to `MOST_NAMED` of them, and at least `FIRST`.
        """
        influence, table = self.influence, self.now.chosen.table
        if influence is None:
            return ()
        shown = max(FIRST, min(MOST_NAMED, self.exposed))
        return tuple(
            NamedRecord(
                table.record_ids[place],
                table.confidential.names[influence.columns[place]],
                float(influence.own[place]),
                float(influence.noise[place]),
                float(influence.told[place]),
                bool(influence.exposed[place]),
            )
            for place in influence.order[:shown]
        )

    @property
    def stated(self) -> float | None:
        """By how much no record's masked value moves with its own true one, but for those in
        `named` that are exposed: where these are too many to be shown, the others count."""
        if self.influence is None:
            return None
        shown = sum(record.exposed for record in self.named)
        others = self.influence.weights[self.influence.order[shown:]]
        return float(np.max(others, initial=0.0))

    @property
    def bounded(self) -> tuple[str, ...]:
        """The columns that bounds may change: none where true values are reordered."""
        chosen = self.now.chosen
        return () if chosen.choice.method.released_values else tuple(chosen.bounds)

    @property
    def protection(self) -> tuple[str, ...]:
        """What the method protects and what it does not."""
        chosen = self.now.chosen
        told = chosen.table.told.names
        return protection(chosen.choice.method, told, chosen.copies, chosen.bounds)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the custodian must know before this leaves: alarms of measures, and cautions."""
        alarms = (f"{row.about}: {row.sentence}" for row in self.measures.alarms)
        return (*alarms, *self.cautions)

    @property
    def cautions(self) -> tuple[str, ...]:
        """What no measure says: what is lost, left out, near the true values, or refused."""
        found: list[str] = []
        found += dict.fromkeys(w for copy in self.now.copies for w in copy.warnings)
        advice = self.now.chosen.choice.recommendation
        if advice is not None:
            found += advice.lost
        table = self.now.chosen.table.confidential
        matrix = self.now.copies[0].matrix
        for name, fact in below_zero(table.names, table.matrix(), matrix):
            cuts = f'bounds = {{ "{name}" = {{ low = 0 }} }} in [mask] cuts them off'
            found.append(f"{fact}: {cuts}; methods that shuffle keep to true values.")
        found += [Caution(said, Gravity.NOTE) for said in self.left_out("release")]
        return gravest_first([*found, *self.refusals()])

    def of(self, group: str) -> Sequence[Measure]:
        """Return the measures of a group: "utility" or "security"."""
        return [row for row in self.measures if row.group == group]

    @property
    def judged(self) -> Sequence[Measure]:
        """The measures of what is given away, alarms first."""
        rows = [row for row in self.of("security") if not row.name.endswith(LINES_ONLY)]
        return sorted(rows, key=lambda row: not row.alarm)

    @property
    def curves_shown(self) -> Sequence[Measure]:
        """What straight lines alone would say: large wherever a curve is released on purpose."""
        return [row for row in self.of("security") if row.name.endswith(LINES_ONLY)]

    @property
    def verdict(self) -> str:
        """Whether any measure shows that masked values tell more than the columns told do."""
        if found := len(self.measures.alarms):
            some = "One measure shows" if found == 1 else f"{found} measures show"
            return f"{some} that the masked values tell more of a record than the columns told do."
        return (
            "No measure shows that the masked values tell more of a record than the columns told"
            " do."
        )

    def as_dict(self) -> dict[str, Any]:
        """Return JSON: measures and words, and nothing of any record."""
        chosen = self.now.chosen
        choice, table = chosen.choice, chosen.table
        advice = choice.recommendation
        return {
            "records": len(chosen.keys),
            "dropped": table.dropped,
            "told": list(table.told.names),
            "confidential": list(table.confidential.names),
            "method": choice.method.name,
            "recommended": advice is not None,
            "recommendation": None if advice is None else _plain(asdict(advice)),
            "keeps": choice.method.keeps,
            "copies": chosen.copies,
            "largest_leverage": self.leverage,
            "named": self.exposed,
            "verdict": self.verdict,
            "protection": list(self.protection),
            "warnings": list(self.warnings),
            "measures": [_plain(asdict(row)) for row in self.measures],
            "notes": list(self.measures.notes),
            "ledger": None if self.losses is None else self.losses.as_dict(),
        }


def report_of(made: PreparedMask, watch: StagedProgress) -> MaskReport:
    """Measure a masked table.

    Raises:
        TableError, MaskingError: it cannot be measured.
    """

    def measuring(done: int, total: int, /) -> None:
        watch("measuring", done, total)

    table, first = made.chosen.table, made.copies[0]
    rng = made.chosen.randomness(0)
    masked = numeric_table(table.confidential.names, first.matrix)
    measures = measure_all(
        table.told,
        table.confidential,
        masked,
        rng=rng,
        on_step=measuring,
        influence=first.influence,
    )
    return MaskReport(made, measures)


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: what is no number is null."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
