"""How the plan's report is shown: all of it on the page, the essentials in a terminal."""

from __future__ import annotations

import math
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from owner_agent.report.contents import BlockReport, VariableReport
from owner_agent.report.figures import posterior_picture, width_picture
from owner_agent.report.losses import number
from owner_agent.report.page import ReportView, show_warnings
from owner_agent.report.report import LISTED_CHOICES, PlanReport, shares_reported
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
from pramana_core.alike import first_few
from pramana_core.pictures.svg import short
from pramana_core.privacy import PRIOR
from pramana_core.progress import Progress

_PICTURES = {
    "posteriors": posterior_picture,
    "widths": width_picture,
}


def _drawn(plan: PlanReport, tick: Progress) -> dict[str, Any]:
    """Return what the page shows besides the report's numbers."""
    pictures = {}
    for done, (name, draw) in enumerate(_PICTURES.items()):
        tick(done, len(_PICTURES))
        pictures[name] = draw(plan)
    reasons: dict[tuple[str, str], list[str]] = {}
    for variable in plan.variables:
        for said in variable.reasons.items():
            reasons.setdefault(said, []).append(variable.name)
    missing = [
        (first_few(names, _NAMED_VARIABLES), what, reason)
        for (what, reason), names in reasons.items()
    ]
    return {
        "together_gamma": plan.together.told.written_gamma,
        "listed_choices": LISTED_CHOICES,
        "shares": {
            block.name: shares_reported(plan, block) for block in plan.blocks if block.choices
        },
        "missing": missing,
        "corrected_lines": () if plan.corrected is None else plan.corrected.lines(),
        "study": _study(plan.study),
        "study_plan_lines": () if plan.adopted is None else told_lines(plan.adopted),
        **pictures,
    }


def _study(forecast: StudyForecast | str | None) -> dict[str, Any] | None:
    """Return what the page says of the whole study."""
    if not isinstance(forecast, StudyForecast):
        return None
    return {
        "name": forecast.study,
        "people": forecast.forecast.after.people_said,
        "owners": owners(forecast),
        "alarming": alarming(forecast),
        "determined": _spaced(cells(forecast.record[1])[2]),
        "lines": [(what, [_spaced(c) for c in cells(change)]) for what, change in lines(forecast)],
        "budget": list(budget(forecast)),
        "warnings": forecast.forecast.after.warnings,
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
    for row in plan.variables:
        table.add_row(*_plan_row(row), style=None if row.sensitive else "dim")
    console.print(table)
    console.print(
        "gamma bounds how much more likely a report is under one truth than under another; epsilon"
        f" is its logarithm. A belief of {PRIOR:.0%} in a statement about a variable grows to so"
        " much at most by the report of its own block alone; other blocks may tell of it too. The"
        " best guess is right so often without and with that report, for an attacker to whom all"
        " categories are as likely. The last column is half the 95% interval of the worst"
        " proportion.",
        style="dim",
    )
    if any(math.isinf(row.bounds.told.gamma) for row in plan.variables):
        console.print("∞: some report proves that some category is not the true one.", style="dim")
    _show_together(console, plan)
    show_adopted(console, plan.adopted)
    show_study(console, plan.study)
    show_warnings(console, plan.warnings)


def _plan_row(row: VariableReport) -> tuple[RenderableType, ...]:
    bounds, figures = row.bounds, row.attack.figures
    grouped = math.isinf(bounds.told.gamma) and math.isfinite(bounds.gamma_within)
    within = f"\n({number(bounds.gamma_within)} in group)" if grouped else ""
    blind, expected = figures["guess_blind"], figures["guess_expected"]
    return (
        escape(row.name + ("" if row.sensitive else " (public)"))
        + (f"\n(with {escape(short(row.block, _BLOCK_NAME))})" if row.block != row.name else ""),
        escape(row.channel),
        number(bounds.told.gamma) + within,
        number(bounds.told.epsilon),
        Text(f"{bounds.rho2:.1%}", _severity(bounds.rho2) if row.sensitive else ""),
        "-" if blind is None or expected is None else f"{blind:.0%} → {expected:.0%}",
        "-" if row.half_width is None else f"{row.half_width:.2%}",
    )


def _severity(posterior: float) -> str:
    if posterior >= ALARMING:
        return "bold red"
    return "yellow" if posterior >= POSTERIOR else "green"


def _show_together(console: Console, plan: PlanReport) -> None:
    words = plan.together.told
    if any(block.sensitive for block in plan.blocks):
        console.print(
            f"All sensitive variables of a record together: gamma {words.written_gamma},"
            f" epsilon {number(words.epsilon)}; {PRIOR:.0%} grows to"
            f" {words.grown(PRIOR):.1%}, however their values go together."
        )
    for block in plan.blocks:
        if block.choices:
            _show_choices(console, plan, block)
    for line in () if plan.corrected is None else plan.corrected.lines():
        console.print(line, style="bold yellow", markup=False)
    for loss in () if plan.losses is None else plan.losses.columns:
        if loss.before:
            console.print(
                loss.sentence, style="bold yellow" if loss.refused else None, markup=False
            )


def _show_choices(console: Console, plan: PlanReport, block: BlockReport) -> None:
    """Print the first parts of a sampled block, and how many records report each variable."""
    for choice in block.choices[:LISTED_CHOICES]:
        names = first_few(choice.variables, LISTED_CHOICES)
        console.print(f"{choice.probability:.1%} of the records report {names}.", markup=False)
    console.print(shares_reported(plan, block), markup=False)


PLAN = ReportView("plan.html", _drawn, _printed)
