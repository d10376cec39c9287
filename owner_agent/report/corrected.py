"""Records corrected since their first report, and the privacy loss of each way to report them."""

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
    """A table's corrected records by block, with the largest epsilon for each choice."""

    choice: CorrectionChoice | None
    blocks: tuple[Row, ...]
    exchange: Exchange | None

    @classmethod
    def of(cls, now: PreparedRecords, choice: CorrectionChoice | None) -> Self | None:
        """Compare the records to send with those sent before. Return None if none were sent."""
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
        """Whether records were corrected, but the custodian has not chosen how to report them."""
        return self.choice is None and bool(self.changed)

    def as_dict(self) -> dict[str, Any]:
        """Return the corrected records as JSON values; an infinite epsilon becomes null."""
        exchange = None if self.exchange is None else asdict(self.exchange)
        return {"choice": self.choice, "blocks": list(self.blocks), "records": exchange}

    def lines(self) -> list[str]:
        """Return sentences on corrected records that a custodian must know before publishing."""
        changed = self.exchange is not None and (self.exchange.gone or self.exchange.new)
        exchange = [str(self.exchange)] if changed else []
        return [*exchange, *map(self._line, self.changed)]

    def _line(self, row: Row) -> str:
        counted = f"{row['block']}: {row['would_differ']:,} of {row['reported_before']:,}"
        counted += " records that were sent before"
        kept = bound(row["epsilon_if_kept"])
        kept = f"keep the reports of their former values (epsilon {kept})"
        if self.choice == "keep":
            return f"{counted} {kept}."
        return (
            f"{counted} would be reported differently. Choose before publishing. With "
            f"--corrections keep, they {kept}. After `owner-agent new-epoch --yes`, all records "
            f"are randomized again (epsilon {bound(row['epsilon_if_anew'])} for everybody)."
        )

    def section(self) -> Section:
        """Return the section on corrected records for a plan's report."""
        note = (
            "These counts come from the table. Before you show the report to people who must not "
            "learn how many records were corrected, remove this section. Two different reports "
            "of a"
            " record would show that its value changed, whatever the channel. Therefore every"
            " record keeps its first report, or all records are randomized again and their"
            " epsilons add."
        )
        lines = self.lines()
        return Section(
            "Records with changed values since their first report",
            [Sentence(line, "warning") for line in lines or ["None."]],
            notes=[note],
            brief=bool(lines),
        )
