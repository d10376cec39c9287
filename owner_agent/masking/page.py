"""The masking report as one HTML page that loads nothing, and its numbers as JSON beside it.

The page shows true values as pictures. It is written into the owner's folder, readable by her
alone, and goes nowhere else.
"""

from __future__ import annotations

import math
from pathlib import Path

from owner_agent.masking.pictures import relationship_pictures
from owner_agent.masking.report import MaskReport
from owner_agent.masking.words import LETTERS
from owner_agent.report.page import templates, write_with_numbers
from pramana_core.mask.core.caution import Caution, Gravity, gravest_first, gravity_of
from pramana_core.progress import Progress, unwatched

PAGE = "mask.html"

ROUNDING = 1e-9
"""Numbers below this are what sums in floating point leave."""


def write_mask_report(
    report: MaskReport, owner: str, page: Path, tick: Progress = unwatched
) -> tuple[Path, Path]:
    """Write the page and, beside it, its numbers as JSON; both readable by their owner only.

    Returns:
        The paths of the page and of the JSON file, which ends in `.json` instead.

    Raises:
        OptionError: they cannot be written.
    """
    return write_with_numbers(page, mask_html(report, owner, tick), report.as_dict())


def mask_html(report: MaskReport, owner: str, tick: Progress = unwatched) -> str:
    """Return the page. It shows true values, as pictures."""
    environment = templates("owner_agent.masking")
    environment.filters |= {"figure": figure, "measured": measured, "share": share}
    return environment.get_template("mask.html.j2").render(
        owner=owner,
        letters=LETTERS,
        report={**report.as_dict(), "alarms": report.measures.alarms},
        utility=report.of("utility"),
        security=report.judged,
        curves=report.curves_shown,
        evidence=_evidence(report),
        cautions=_cautions(report),
        named=report.named,
        stated=report.stated,
        bounded=report.bounded,
        losses=[(loss.column, *loss.texts, loss.refused) for loss in report.earlier],
        pictures=relationship_pictures(report.made, tick),
    )


def figure(value: float | None) -> str:
    """Write a number with four digits, one that is rounding alone as 0; none as a dash."""
    if value is None or value != value:
        return "–"
    return "0" if abs(value) < ROUNDING else f"{value:.4g}"


def share(value: float) -> str:
    """Write a share in per cent, small ones with a digit more."""
    return f"{100 * value:.{0 if value >= 0.0995 else 1}f} %"


def measured(value: float, error: float | None) -> str:
    """Write a measure with its standard error, if it has one: to the error's second digit."""
    if error is None or value != value or error < ROUNDING:
        return figure(value)
    digits = min(4, max(0, 1 - math.floor(math.log10(error))))
    return f"{round(value, digits) + 0.0:.{digits}f} ± {error:.{digits}f}"


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
    advice = report.made.chosen.choice.recommendation
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
