"""The report on a masked table before its release."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np

from owner_agent.release.masked import LETTERS, PreparedMask, protection
from owner_agent.report.losses import left_out, losses_by, refusals
from pramana_core.mask.core.cautions import Caution, Gravity, below_zero, gravest_first, gravity_of
from pramana_core.mask.measures import Measures, measure_all
from pramana_core.mask.pictures import pairs_to_show, relationships_chart
from pramana_core.mixed import numeric_table
from pramana_core.progress import StagedProgress
from pramana_core.report.numbers import measured, percent, plural
from pramana_core.report.report import Column, Fact, Picture, Report, Row, Section, Sentence, Table

PAGE = "mask.html"

FIRST, MOST_NAMED = 5, 100
"""Smallest and largest count of records listed as most disclosed."""

MOST_PICTURES, PER_ROW = 8, 4
"""Largest count of relationships drawn, strongest first, and pictures per row."""

MOST_MEASURES = 24
"""Longer tables of measures are folded."""

SHOWN = ("snooper-gain", "told-largest")
"""Measures that a terminal shows even without an alarm."""


def report_of(now: PreparedMask, watch: StagedProgress) -> Report:
    """Measure a masked table and report on it. Raises TableError, MaskingError."""
    table, masked = now.chosen.table, now.masked
    measures = measure_all(
        table.unchanged,
        table.confidential,
        numeric_table(table.confidential.names, masked.matrix),
        rng=now.chosen.randomness(0),
        on_step=partial(watch, "measuring"),
        influence=masked.influence,
    )
    return mask_report(now, measures)


def mask_report(now: PreparedMask, measures: Measures) -> Report:
    """Return the report on a masked table. Its JSON and its summary identify no single record."""
    chosen = now.chosen
    table, losses = chosen.table, losses_by(now)
    advice, influence = chosen.recommendation, now.masked.influence
    names = table.unchanged.names
    largest = None if influence is None else float(influence.weights.max())
    exposed = 0 if influence is None else int(np.count_nonzero(influence.exposed))
    alarms = measures.alarms
    verdict = (
        f"{plural(len(alarms), 'measure')} {'shows' if len(alarms) == 1 else 'show'}"
        if alarms
        else "No measure shows"
    ) + " that the masked values reveal more about a record than the public columns."
    cautions = gravest_first([*_cautions(now), *refusals(losses)])
    promises = protection(chosen.method, names)
    how = "named in the site file" if advice is None else "recommended for this table"
    numbers = {
        "records": len(chosen.keys),
        "dropped": table.dropped,
        "told": list(names),
        "confidential": list(table.confidential.names),
        "method": chosen.method.name,
        "recommended": advice is not None,
        "recommendation": None if advice is None else _plain(asdict(advice)),
        "keeps": chosen.method.keeps,
        "largest_leverage": largest,
        "named": exposed,
        "verdict": verdict,
        "protection": list(promises),
        "warnings": [*(f"{row.about}: {row.sentence}" for row in alarms), *cautions],
        "measures": [_plain(asdict(row)) for row in measures],
        "notes": list(measures.notes),
        "ledger": None if losses is None else losses.as_dict(),
    }
    head = [Caution(f"{verdict} See “What it reveals”.", Gravity.GRAVE)] if alarms else []
    facts = [
        Fact(f"{len(chosen.keys):,}", "records"),
        Fact(chosen.method.name, how),
        Fact("no bound", "masked records have no gamma"),
    ]
    if largest is not None:
        changed = "largest share of a change in a true value that its masked value shows"
        more = "more than a quarter of what the public columns leave unknown"
        facts += [
            Fact(percent(largest), changed),
            Fact(f"{exposed:,}", f"records whose masked value reveals {more}"),
        ]
    sections = [
        Section(
            sentences=[
                Sentence(
                    "This page shows your true values as pictures, so it is private. It is never "
                    "sent. Do not give copies to others.",
                    "private",
                    brief=False,
                )
            ],
            facts=facts,
        ),
        Section(
            sentences=[
                LETTERS,
                f"S: {', '.join(names) or 'nothing'}. X: {', '.join(table.confidential.names)}.",
                *(_weighed(words) for words in gravest_first([*head, *cautions])),
            ]
        ),
        Section(
            "What this protects and what it does not",
            [Sentence(words, "point") for words in promises],
        ),
        _relationships(chosen.method.keeps, None if advice is None else asdict(advice)),
        *_pictures(now),
        _measures("What it reveals", verdict, _rows(measures, "security")),
        *_named(now),
        _measures(
            "What it is good for", "", _rows(measures, "utility"), measures.notes, brief=False
        ),
    ]
    if losses is not None:
        sections.append(
            losses.section(
                "Sums of epsilons do not include masked columns, which have no privacy bound."
            )
        )
    foot = "The JSON file next to this page has the same numbers."
    return Report("what masking would release", sections, numbers, foot)


def _cautions(now: PreparedMask) -> Iterator[str]:
    """Yield cautions that no measure expresses: losses, omitted records, nearly true values."""
    yield from now.masked.warnings
    advice = now.chosen.recommendation
    if advice is not None:
        yield from advice.lost
    table = now.chosen.table.confidential
    for fact in below_zero(table.names, table.matrix(), now.masked.matrix):
        yield f"{fact}; methods that shuffle release only true values."
    for words in left_out(now, "release"):
        yield Caution(words, Gravity.NOTE)


def _weighed(words: str) -> Sentence:
    return Sentence(words, "grave" if gravity_of(words) == Gravity.GRAVE else "warning")


def _relationships(keeps: str, advice: Row | None) -> Section:
    title = "Which relationships are preserved"
    if advice is None:
        return Section(title, [keeps])
    columns = (
        Column("relationship", lambda row: row["about"].replace("->", "→"), number=False),
        Column("kind", lambda row: row["kind"], number=False),
        Column("lines explain", lambda row: measured(*row["linear"].values())),
        Column("curves explain", lambda row: measured(*row["curved"].values())),
    )
    note = (
        "Share of the variance in unseen records that fitted lines and curves explain, ± a standard"
        " error over records."
    )
    sentences = [keeps, advice["sentence"]]
    table = Table(columns, advice["evidence"], brief=lambda _row: False)
    return Section(title, sentences, table, notes=[note])


def _pictures(now: PreparedMask) -> Iterator[Section]:
    shown, true = now.chosen.table.unchanged, now.chosen.table.confidential
    masked = numeric_table(true.names, now.masked.matrix)
    versions = [("original", shown.beside(true)), ("masked", shown.beside(masked))]
    chosen = pairs_to_show(shown, true, MOST_PICTURES)
    note = "Strongest first. Original and masked pictures have the same scales."
    yield Section("Original and masked records", [Sentence(note, "note")], brief=False)
    for place, start in enumerate(range(0, len(chosen), PER_ROW)):
        pairs = chosen[start : start + PER_ROW]
        chart = replace(relationships_chart(versions, pairs), salt=f"mask-{place}")
        about = ", ".join(f"{up} over {across}" for across, up in pairs)
        yield Section(about, pictures=[Picture(about, chart.svg)], minor=True, brief=False)


def _rows(measures: Measures, group: str) -> list[Row]:
    """Return the measures of a group, starting with those that raise an alarm."""
    found = [asdict(row) for row in measures if row.group == group]
    return sorted(found, key=lambda row: not row["alarm"])


def _measures(
    title: str, verdict: str, rows: list[Row], notes: Iterable[str] = (), *, brief: bool = True
) -> Section:
    columns = (
        Column("measure", lambda row: row["name"], number=False, brief=False),
        Column("of", lambda row: row["about"], number=False),
        Column(
            "value", lambda row: measured(row["value"], row["error"]), high=lambda row: row["alarm"]
        ),
        Column("in words", lambda row: row["sentence"], number=False),
    )
    table = Table(columns, rows, brief=lambda row: row["alarm"] or row["name"] in SHOWN)
    folded = f"All {len(rows)} measures" if len(rows) > MOST_MEASURES else ""
    note = "± is a standard error over records, where one exists."
    sentences = [verdict] if verdict else []
    return Section(
        title, sentences, table, notes=[" ".join([note, *notes])], folded=folded, brief=brief
    )


def named_records(now: PreparedMask) -> list[Row]:
    """Return the most disclosed records: all exposed, at least `FIRST`, at most `MOST_NAMED`."""
    influence, table = now.masked.influence, now.chosen.table
    if influence is None:
        return []
    shown = max(FIRST, min(MOST_NAMED, int(np.count_nonzero(influence.exposed))))
    return [
        {
            "record": table.record_ids[place],
            "column": table.confidential.names[influence.columns[place]],
            "own": float(influence.own[place]),
            "noise": float(influence.noise[place]),
            "told": float(influence.told[place]),
            "exposed": bool(influence.exposed[place]),
        }
        for place in influence.order[:shown]
    ]


def _named(now: PreparedMask) -> Iterator[Section]:
    influence, rows = now.masked.influence, named_records(now)
    if influence is None or not rows:
        return
    exposed = int(np.count_nonzero(influence.exposed))
    # Exposed records that are not listed count among the others.
    shown = sum(row["exposed"] for row in rows)
    others = float(np.max(influence.weights[influence.order[shown:]], initial=0.0))
    but = ", except for those in colour" if exposed else ""
    columns = (
        Column("record", lambda row: row["record"], number=False, high=lambda row: row["exposed"]),
        Column("of", lambda row: row["column"], number=False),
        Column("own weight", lambda row: percent(row["own"])),
        Column("noise", lambda row: percent(row["noise"])),
        Column("disclosed", lambda row: percent(row["told"]), high=lambda row: row["exposed"]),
    )
    count = (
        f"These are the {len(rows)} most disclosed of {exposed:,} such records."
        if exposed > len(rows)
        else "Less is disclosed about all other records."
    )
    yield Section(
        "Most disclosed records",
        [
            (
                f"When one true value changes, its own masked value moves by at most"
                f" {percent(others)} of that change{but}. This ignores settings chosen from all"
                " records: smoothness, and omitted records. “Disclosed” is the share of the"
                " variance unexplained by the public columns that the masked value reveals to a"
                " reader who knows all other records. “Noise” is a share of the usual noise."
            )
        ],
        Table(columns, rows),
        notes=[f"{count} Record ids are on this page only."],
        minor=True,
        brief=False,
    )


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value), parse_constant=lambda _constant: None)
