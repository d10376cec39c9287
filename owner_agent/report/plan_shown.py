"""How the plan's report is shown: all of it on the page, the essentials in a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from owner_agent.report.contents import BlockReport, VariableReport
from owner_agent.report.figures import posterior_picture, strength_picture, width_picture
from owner_agent.report.measures import number
from owner_agent.report.page import Shown, show_warnings
from owner_agent.report.report import LISTED_CHOICES, WIDE, PlanReport, listed, shares_reported
from owner_agent.report.thresholds import ALARMING, POSTERIOR
from owner_agent.report.whole_study import (
    StudyForecast,
    alarming,
    budget,
    cells,
    lines,
    owners,
    show_study,
)
from owner_agent.site.adopting import AdoptedPlan, told_lines
from pramana_core.pictures.svg import short
from pramana_core.privacy import PRIOR
from pramana_core.progress import Progress

_PICTURES = {
    "posteriors": posterior_picture,
    "strengths": strength_picture,
    "widths": width_picture,
}

_JSON_ONLY = {"upward_breach", "downward_breach"}
"""Of which the page has the bounds for every prior instead."""


def _drawn(plan: PlanReport, tick: Progress) -> dict[str, Any]:
    """Return what the page shows besides the report's numbers."""
    pictures = {}
    for done, (name, draw) in enumerate(_PICTURES.items()):
        tick(done, len(_PICTURES))
        pictures[name] = draw(plan)
    missing = [
        (variable.name, what, reason)
        for variable in plan.variables
        for what, reason in variable.reasons.items()
        if what not in _JSON_ONLY
    ]
    return {
        "together_gamma": plan.together.told.written_gamma,
        "listed_choices": LISTED_CHOICES,
        "wide": {b.name: b.variables for b in plan.blocks if len(b.variables) > WIDE},
        "shares": {
            block.name: shares_reported(plan, block) for block in plan.blocks if block.choices
        },
        "missing": missing,
        "corrected_lines": () if plan.corrected is None else plan.corrected.lines(),
        "study": _study(plan.study),
        "study_plan_lines": () if plan.adopted is None else told_lines(plan.adopted),
        **pictures,
    }


def _study(told: StudyForecast | str | None) -> dict[str, Any] | None:
    """Return what the page says of the whole study."""
    if not isinstance(told, StudyForecast):
        return None
    return {
        "name": told.study,
        "people": told.forecast.after.people_said,
        "owners": owners(told),
        "alarming": alarming(told),
        "determined": _spaced(cells(told.record[1])[2]),
        "lines": [(what, [_spaced(c) for c in cells(change)]) for what, change in lines(told)],
        "budget": list(budget(told)),
        "warnings": told.forecast.after.warnings,
    }


def _spaced(text: str) -> str:
    """Write per cent as the page does."""
    return text.replace("%", " %")


def show_adopted(console: Console, adopted: AdoptedPlan | None) -> None:
    """Print what the plan that a site follows says of all owners and of this one."""
    for line in () if adopted is None else told_lines(adopted):
        console.print(line, markup=False)


_BLOCK_NAME = 16
"""So much of a block's name stands beside each of its variables."""

_NAMED_VARIABLES = 3
"""So many of those in a wide block that share a row are named; the page has a row for each."""


def _printed(console: Console, _loud: Console, plan: PlanReport) -> None:
    """Print the essentials of a plan's report."""
    title = f"What the plan reveals, and its errors at {plan.records:,} records"
    table = Table(title=title, box=SIMPLE_HEAD, padding=(0, 1), pad_edge=False, show_edge=False)
    table.add_column("variable", overflow="fold")
    table.add_column("channel", overflow="fold")
    # Narrow, so that 80 columns hold the channels' names whole.
    grows = f"block\nalone: {PRIOR:.0%}\ngrows to"
    for heading in ("gamma", "epsilon", grows, "best guess", "95% ±"):
        table.add_column(heading, justify="right")
    for names, row in _rows(plan):
        table.add_row(escape(names), *_plan_row(row), style=None if row.sensitive else "dim")
    console.print(table)
    console.print(
        "gamma bounds how much more likely a report is under one truth than under another; epsilon"
        f" is its logarithm. A belief of {PRIOR:.0%} in a statement about a variable grows to so"
        " much at most by the report of its own block alone; other blocks may tell of it too. The"
        " best guess is right so often without and with that report, for an attacker who believes"
        f" {_believed(plan)}. The last column is half the 95% interval of the worst proportion.",
        style="dim",
    )
    if any(math.isinf(row.bounds.told.gamma) for row in plan.variables):
        console.print("∞: some report proves that some category is not the true one.", style="dim")
    _show_together(console, plan)
    show_adopted(console, plan.adopted)
    show_study(console, plan.study)
    show_warnings(console, plan.warnings)


def _rows(plan: PlanReport) -> Iterator[tuple[str, VariableReport]]:
    """Yield names of variables and the row they share: those of wide blocks may share one."""
    wide = {b.name for b in plan.blocks if len(b.variables) > WIDE}
    together: dict[object, list[VariableReport]] = {}
    for row in plan.variables:
        key = (
            (row.block, row.sensitive, *map(str, _plan_row(row))) if row.block in wide else row.name
        )
        together.setdefault(key, []).append(row)
    for rows in together.values():
        row = rows[0]
        shared = row.block != row.name and row.block not in wide
        yield (
            listed([r.name for r in rows], _NAMED_VARIABLES)
            + ("" if row.sensitive else " (public)")
            + (f"\n(with {short(row.block, _BLOCK_NAME)})" if shared else ""),
            row,
        )


def _plan_row(row: VariableReport) -> tuple[RenderableType, ...]:
    bounds, accuracy = row.bounds, row.attack.accuracy
    grouped = math.isinf(bounds.told.gamma) and math.isfinite(bounds.gamma_within)
    within = f"\n({number(bounds.gamma_within)} in group)" if grouped else ""
    return (
        escape(row.channel),
        number(bounds.told.gamma) + within,
        number(bounds.told.epsilon),
        Text(f"{bounds.rho2:.1%}", _severity(bounds.rho2) if row.sensitive else ""),
        "-" if accuracy is None else f"{accuracy.blind:.0%} → {accuracy.expected:.0%}",
        "-" if row.half_width is None else f"{row.half_width:.2%}",
    )


def _severity(posterior: float) -> str:
    if posterior >= ALARMING:
        return "bold red"
    return "yellow" if posterior >= POSTERIOR else "green"


def _believed(plan: PlanReport) -> str:
    given = len(plan.assumed.priors)
    return f"the given priors of {given} variables" if given else "all categories equally likely"


def _show_together(console: Console, plan: PlanReport) -> None:
    told = plan.together.told
    if any(block.sensitive for block in plan.blocks):
        console.print(
            f"All sensitive variables of a record together: gamma {told.written_gamma},"
            f" epsilon {number(told.epsilon)}; {PRIOR:.0%} grows to"
            f" {told.grown(PRIOR):.1%}, however their values go together."
        )
    for block in plan.blocks:
        if block.choices:
            _show_choices(console, plan, block)
    before = [] if plan.losses is None else [c for c in plan.losses.columns if c.before]
    for line in () if plan.corrected is None else plan.corrected.lines():
        console.print(line, style="bold yellow", markup=False)
    alike: dict[tuple[object, ...], list[str]] = {}
    for loss in before:
        alike.setdefault((loss.texts, loss.refused), []).append(loss.column)
    for loss in before:
        columns = alike[loss.texts, loss.refused]
        if len(columns) <= WIDE:
            columns = [loss.column]
        elif loss.column != columns[0]:
            continue
        refused = "; publish refuses it unless you accept the loss" if loss.refused else ""
        console.print(
            f"{listed(columns, _NAMED_VARIABLES)} left before: epsilon {loss.texts[0]},"
            f" after this plan {loss.texts[1]}{refused}.",
            style="bold yellow" if loss.refused else None,
            markup=False,
        )


def _show_choices(console: Console, plan: PlanReport, block: BlockReport) -> None:
    """Print the first parts of a sampled block, and how many records report each variable."""
    many = len(block.choices) > LISTED_CHOICES
    for choice in block.choices if not many else ():
        console.print(
            f"{choice.probability:.1%} of the records report {', '.join(choice.variables)}.",
            markup=False,
        )
    if many:
        console.print(shares_reported(plan, block), markup=False)


PLAN = Shown("plan.html", _drawn, _printed)
