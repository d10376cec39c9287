"""What masking would release, what it is good for and what it gives away: before it leaves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from owner_agent.costs.losses import ColumnLoss, Losses, compare
from owner_agent.masking.publishing import MaskedNow
from owner_agent.masking.words import protection
from shared.mask.core.inputs import NOTABLE_LEVERAGE, inputs
from shared.mask.measures import Measure, Measures, measure_all
from shared.mixed.table import numeric_table
from shared.progress import StagedProgress

LINES_ONLY = "-lines-only"
"""Ends the names of measures that call a curve over what is told a gain from what is masked."""


@dataclass(frozen=True, eq=False)
class MaskReport:
    """All that the page, the terminal and the JSON show; `made` holds records and stays inside.

    Attributes:
        made: the table masked.
        measures: of the first copy; the others are drawn alike.
        leverage: the largest weight that a record's own values have in their prediction from what
            is told; None where the method predicts nothing.
        losses: what the ledger says of the columns before and after; None if nothing has left.
    """

    made: MaskedNow
    measures: Measures
    leverage: float | None
    losses: Losses | None

    @property
    def protection(self) -> tuple[str, ...]:
        """What the method protects and what it does not."""
        chosen = self.made.chosen
        return protection(chosen.choice.method, chosen.table.told.names, chosen.copies)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the custodian must know before this leaves: alarms of measures, and cautions."""
        alarms = (f"{row.about}: {row.sentence}" for row in self.measures.alarms)
        return (*alarms, *self.cautions)

    @property
    def cautions(self) -> tuple[str, ...]:
        """What no measure says: what is lost, left out, near the true values, or refused."""
        found: list[str] = []
        found += dict.fromkeys(w for copy in self.made.copies for w in copy.warnings)
        advice = self.made.chosen.choice.recommendation
        if advice is not None:
            found += advice.lost
        dropped = self.made.chosen.table.dropped
        if dropped:
            have = (
                "record has empty cells and is"
                if dropped == 1
                else "records have empty cells and are"
            )
            found.append(f"{dropped:,} {have} left out of the release.")
        if self.leverage is not None and self.leverage > NOTABLE_LEVERAGE:
            found.append(
                f"The largest leverage is {self.leverage:.2f}: some record's own values decide most"
                " of what is predicted of it, and its masked values may be close to the true ones."
            )
        if refused := self.refused:
            found.append(
                f"{', '.join(refused)} left before in another form: publishing is refused unless"
                " the added loss is accepted."
            )
        return tuple(found)

    @property
    def refused(self) -> tuple[str, ...]:
        """The columns that may not leave so, unless the added loss is accepted."""
        columns = () if self.losses is None else self.losses.columns
        return tuple(loss.column for loss in columns if loss.refused)

    @property
    def earlier(self) -> tuple[ColumnLoss, ...]:
        """The columns that left before, and what this release adds."""
        columns = () if self.losses is None else self.losses.columns
        return tuple(loss for loss in columns if loss.before)

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
        chosen = self.made.chosen
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
            "verdict": self.verdict,
            "protection": list(self.protection),
            "warnings": list(self.warnings),
            "measures": [_plain(asdict(row)) for row in self.measures],
            "notes": list(self.measures.notes),
            "ledger": None if self.losses is None else self.losses.as_dict(),
        }


def report_of(made: MaskedNow, watch: StagedProgress) -> MaskReport:
    """Measure a masked table.

    Raises:
        TableError, MaskingError: it cannot be measured.
    """

    def measuring(done: int, total: int, /) -> None:
        watch("measuring", done, total)

    table, first = made.chosen.table, made.copies[0]
    rng = made.chosen.randomness(0)
    masked = numeric_table(table.confidential.names, first.matrix)
    measures = measure_all(table.told, table.confidential, masked, rng=rng, on_step=measuring)
    left = [entry for entry in made.entries if entry.left]
    losses = compare(made.draws, left, keys_known=True) if left else None
    return MaskReport(made, measures, _leverage(made), losses)


def _leverage(made: MaskedNow) -> float | None:
    """Return the largest leverage as the method says it, or of straight lines."""
    if not made.chosen.choice.method.independent:
        return None
    told = made.copies[0].details.get("largest_leverage")
    if told is not None:
        return float(told)
    given = inputs(made.chosen.table.told, made.chosen.table.confidential)
    return float(given.leverages.max())


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: what is no number is null."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
