"""The masking report as one HTML page that loads nothing, and its numbers as JSON beside it.

The page shows true values as pictures. It is written into the owner's folder, readable by her
alone, and goes nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from owner_agent.masking.publishing import MaskedNow
from owner_agent.masking.report import MaskReport
from owner_agent.masking.words import LETTERS
from owner_agent.report.page import templates, write_with_numbers
from pramana_core.mask.core.cautions import Caution, Gravity, gravest_first, gravity_of
from pramana_core.mixed.table import CategoricalColumn, Column, Floats, NumericColumn
from pramana_core.pictures.plots import svg
from pramana_core.pictures.svg import short
from pramana_core.progress import Progress, unwatched
from pramana_core.ties import descending

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Pictures of relationships, true and masked side by side: for the owner's eyes alone.

MOST_PICTURES = 8
"""So many relationships are drawn, those first that tell most of a confidential column."""

FEW_RECORDS = 2_000
"""Of so many records each is a dot; of more there are hexagons, darker where there are many."""

_GROUPS = 12
_ROW_OF_LETTERS = 36
"""Names of categories longer than this together overlap, unless they are turned."""
_SIZE = (8.4, 3.1)


@dataclass(frozen=True)
class RelationshipPicture:
    """One relationship, drawn twice on the same scales."""

    about: str
    svg: str


def relationship_pictures(
    made: MaskedNow, tick: Progress = unwatched
) -> tuple[RelationshipPicture, ...]:
    """Draw the strongest relationships of confidential columns, original beside masked.

    Args:
        made: the table, masked.
        tick: told of each picture.
    """
    pairs = list(_pairs(made))
    order = descending([pair.strength for pair in pairs], scale=1.0)
    chosen = [pairs[place] for place in order[:MOST_PICTURES]]
    pictures = []
    for done, pair in enumerate(chosen):
        tick(done, len(chosen))
        pictures.append(RelationshipPicture(pair.about, _drawn(pair, f"mask-{done}")))
    tick(len(chosen), len(chosen))
    return tuple(pictures)


@dataclass(frozen=True, eq=False)
class _Pair:
    """A confidential column over another: the true ones, and those that would be released."""

    across: Column
    masked_across: Column
    up: NumericColumn
    masked_up: NumericColumn
    strength: float

    @property
    def about(self) -> str:
        return f"{self.up.name} over {self.across.name}"


def _pairs(made: MaskedNow) -> Iterator[_Pair]:
    table, matrix = made.chosen.table, made.copies[0].matrix
    true = [c for c in table.confidential.columns if isinstance(c, NumericColumn)]
    masked = [NumericColumn(c.name, matrix[:, place]) for place, c in enumerate(true)]
    for place, up in enumerate(true):
        for told in table.told.columns:
            yield _Pair(told, told, up, masked[place], explained(told, up.values))
        for other in range(place):
            across = true[other]
            strength = explained(across, up.values)
            yield _Pair(across, masked[other], up, masked[place], strength)


def explained(across: Column, values: Floats) -> float:
    """Return the correlation ratio: which share of a column's variance means of groups explain.

    A column of numbers is cut into groups of about as many records, so that a relationship of any
    shape counts.
    """
    if isinstance(across, CategoricalColumn):
        groups = across.codes
    else:
        edges = np.quantile(across.values, np.arange(1, _GROUPS) / _GROUPS)
        groups = np.searchsorted(edges, across.values, side="right")
    counts = np.bincount(groups)
    means = np.bincount(groups, values) / np.maximum(counts, 1)
    spread = float(np.var(values))
    return float(np.average((means - values.mean()) ** 2, weights=counts)) / spread if spread else 0


def _drawn(pair: _Pair, salt: str) -> str:
    def draw(figure: Figure) -> None:
        axes = figure.subplots(1, 2, sharex=True, sharey=True)
        sides = (("original", pair.across, pair.up), ("masked", pair.masked_across, pair.masked_up))
        for axis, (title, across, up) in zip(axes, sides, strict=True):
            _cloud(axis, across, up.values)
            axis.set_title(title)
            axis.set_xlabel(across.name)
        axes[0].set_ylabel(pair.up.name)

    return svg(draw, _SIZE, salt, f"{pair.about}: original, and masked")


def _cloud(axis: Axes, across: Column, up: Floats) -> None:
    if isinstance(across, CategoricalColumn):
        found = [up[across.codes == code] for code in range(len(across.categories))]
        kept = [place for place, values in enumerate(found) if len(values)]
        axis.boxplot([found[place] for place in kept], positions=kept, showfliers=False)
        labels = [across.categories[place] for place in kept]
        crowded = sum(map(len, labels)) > _ROW_OF_LETTERS
        axis.set_xticks(kept, [short(label, 16) for label in labels])
        if crowded:
            axis.tick_params(axis="x", labelrotation=30)
            for label in axis.get_xticklabels():
                label.set_horizontalalignment("right")
    elif len(up) <= FEW_RECORDS:
        size = 5.0 if len(up) <= FEW_RECORDS // 4 else 3.0
        axis.plot(across.values, up, ".", ms=size, alpha=0.5, mew=0, rasterized=True)
    else:
        axis.hexbin(across.values, up, gridsize=36, bins="log", cmap="Blues", mincnt=1, lw=0)


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
