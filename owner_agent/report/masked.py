"""The report of a masked table before it leaves, and how it is shown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from owner_agent.release.masked import PreparedMask
from owner_agent.release.masked_table import LETTERS, protection
from owner_agent.report.page import ReportView, measured
from owner_agent.report.release_report import ReleaseReport, printing
from pramana_core.mask.core.cautions import Caution, Gravity, below_zero, gravest_first, gravity_of
from pramana_core.mask.core.influence import Influence
from pramana_core.mask.measures import Measure, Measures, measure_all
from pramana_core.mask.pictures import pairs_to_show, relationships_chart
from pramana_core.mixed import numeric_table
from pramana_core.progress import Progress, StagedProgress, unwatched

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
        return sorted(self.of("security"), key=lambda row: not row.alarm)

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
    """Measure a masked table. Raises TableError, MaskingError."""

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


MOST_PICTURES, PER_ROW = 8, 4
"""So many relationships are drawn, those first that tell most of a confidential column, and so many
of them beside each other."""


@dataclass(frozen=True)
class RelationshipPicture:
    """Some relationships beside each other, the true records above and the masked ones below."""

    about: str
    svg: str


def relationship_pictures(
    made: PreparedMask, tick: Progress = unwatched
) -> tuple[RelationshipPicture, ...]:
    """Draw the strongest relationships of confidential columns, original and masked."""
    told, true = made.chosen.table.told, made.chosen.table.confidential
    masked = numeric_table(true.names, made.copies[0].matrix)
    versions = [("original", told.beside(true)), ("masked", told.beside(masked))]
    chosen = pairs_to_show(told, true, MOST_PICTURES)
    rows = [chosen[start : start + PER_ROW] for start in range(0, len(chosen), PER_ROW)]
    pictures = []
    for done, row in enumerate(rows):
        tick(done, len(rows))
        about = ", ".join(f"{up} over {across}" for across, up in row)
        chart = replace(relationships_chart(versions, row), salt=f"mask-{done}")
        pictures.append(RelationshipPicture(about, chart.svg()))
    tick(len(rows), len(rows))
    return tuple(pictures)


def _drawn(report: MaskReport, tick: Progress) -> dict[str, Any]:
    """Return what the page shows besides the report's numbers: true values, as pictures."""
    return {
        "alarms": report.measures.alarms,
        "utility": report.of("utility"),
        "security": report.judged,
        "evidence": _evidence(report),
        "cautions": _cautions(report),
        "named": report.named,
        "stated": report.stated,
        "bounded": report.bounded,
        "losses": report.earlier,
        "pictures": relationship_pictures(report.now, tick),
    }


def _cautions(report: MaskReport) -> list[tuple[str, bool]]:
    """Return what the head of the page warns of, and whether it is grave; alarms stand in words in
    their table."""
    alarms = [
        Caution(f"{report.verdict} See “What it gives away”.", Gravity.GRAVE)
        for _ in report.measures.alarms[:1]
    ]
    said = gravest_first([*alarms, *report.cautions])
    return [(words, gravity_of(words) == Gravity.GRAVE) for words in said]


def _evidence(report: MaskReport) -> list[tuple[str, str, str, str]]:
    """Return a row per relationship looked at: what it is, and what lines and curves explain."""
    advice = report.now.chosen.choice.recommendation
    rows = () if advice is None else advice.evidence
    return [
        (
            row.about.replace("->", "→"),
            row.kind,
            measured(row.linear.share, row.linear.error),
            measured(row.curved.share, row.curved.error),
        )
        for row in rows
    ]


SHOWN = ("snooper-gain", "told-largest")
"""The measures that are printed though nothing is wrong."""


def _details(console: Console, report: MaskReport) -> None:
    """Print what is given away: alarms, and the measures that say it best, each in words."""
    table = Table(box=SIMPLE, expand=True)
    table.add_column("of", overflow="fold", ratio=2)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("in words", ratio=7)
    for row in report.judged:
        if row.alarm or row.name in SHOWN:
            style = "bold yellow" if row.alarm else None
            value = measured(row.value, row.error)
            table.add_row(escape(row.about), value, escape(row.sentence), style=style)
    style = "bold yellow" if report.measures.alarms else "bold"
    console.print(report.verdict, style=style, soft_wrap=True)
    console.print(table)
    console.print(
        "± is a standard error over records. The report and --json have all measures.",
        style="dim",
        soft_wrap=True,
    )
    if report.leverage is not None:
        console.print(
            f"Largest weight of a record's own true value in its masked one: {report.leverage:.3g}."
            " The page names the records that are disclosed most.",
            markup=False,
            soft_wrap=True,
        )


MASKED = ReportView("mask.html", _drawn, printing(_details))
