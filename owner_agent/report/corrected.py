"""The records whose values were corrected since they were reported, and what each choice costs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Self

from owner_agent.release.composition import spent
from owner_agent.release.corrections import Exchange
from owner_agent.release.publish import PreparedRecords
from owner_agent.site.corrections import CorrectionChoice
from pramana_core.privacy import epsilon
from pramana_core.report.numbers import bound, finite
from pramana_core.report.report import Row, Section, Sentence


@dataclass(frozen=True)
class Corrected:
    """The corrected records of a table, by block, with the largest epsilon by each choice."""

    choice: CorrectionChoice | None
    blocks: tuple[Row, ...]
    exchange: Exchange | None

    @classmethod
    def of(cls, now: PreparedRecords, choice: CorrectionChoice | None) -> Self | None:
        """Compare records that would leave with those that left; None where none left."""
        left = [entry for entry in now.entries if entry.left]
        if not any(entry.study == now.past.study and entry.draws for entry in left):
            return None
        before, blocks = spent(left), {block.name: block for block in now.plan.plan.blocks}
        rows = []
        for one in now.corrected.corrections:
            block = blocks[one.block]
            kept = max(before.get(now.plan.columns[name], 0.0) for name in block.names)
            rows.append(
                {
                    "block": one.block,
                    "reported_before": one.reported,
                    "would_differ": one.differing,
                    "epsilon_if_kept": finite(kept),
                    "epsilon_if_anew": finite(kept + epsilon(block.channel)),
                }
            )
        return cls(choice, tuple(rows), now.corrected.exchange)

    @property
    def changed(self) -> list[Row]:
        """The blocks with corrected records."""
        return [row for row in self.blocks if row["would_differ"]]

    @property
    def waits(self) -> bool:
        """Whether records were corrected, and the site file has no choice."""
        return self.choice is None and bool(self.changed)

    def as_dict(self) -> dict[str, Any]:
        """Return JSON; an infinite epsilon is null."""
        exchange = None if self.exchange is None else asdict(self.exchange)
        return {"choice": self.choice, "blocks": list(self.blocks), "records": exchange}

    def lines(self) -> list[str]:
        """Return what a custodian must know before publishing, in sentences."""
        exchange = [] if self.exchange is None else [str(self.exchange)]
        return [*exchange, *map(self._line, self.changed)]

    def _line(self, row: Row) -> str:
        counted = f"{row['block']}: {row['would_differ']:,} of {row['reported_before']:,}"
        counted += " records that left before"
        kept = bound(row["epsilon_if_kept"])
        kept = f"keep reports of values that they no longer have (epsilon {kept})"
        if self.choice == "keep":
            return f"{counted} {kept}."
        return (
            f"{counted} would be reported differently. publish refuses until you choose: with"
            f" --corrections keep they {kept}; after `owner-agent new-epoch --yes` all are drawn"
            f" anew (epsilon {bound(row['epsilon_if_anew'])} for everybody)."
        )

    def section(self) -> Section:
        """Return the section of a plan's report."""
        note = (
            "These numbers are counted from the table: leave this section out where nobody may know"
            " how many records were corrected. Two differing reports of one record would show that"
            " its value changed, whatever the channel. So every record keeps its first report, or"
            " all records are drawn anew and their epsilons add."
        )
        lines = self.lines()
        return Section(
            "Records that were reported before and have other values now",
            [Sentence(line, "warning") for line in lines or ["None."]],
            notes=[note],
            brief=bool(lines),
        )
