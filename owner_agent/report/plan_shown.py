"""How the plan's report is shown: all of it on the page, the essentials in a terminal.

Also here:

* What people are told when a publication has ended: what left, and what was found wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from owner_agent.release.publish import PublishOutcome
from owner_agent.report.contents import BlockReport, VariableReport
from owner_agent.report.figures import posterior_picture, width_picture
from owner_agent.report.losses import number
from owner_agent.report.page import ReportView, show_warnings
from owner_agent.report.report import LISTED_CHOICES, WIDE, PlanReport, shares_reported
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
from pramana_core.wire.release_kinds import SHARED_TREE

_PICTURES = {
    "posteriors": posterior_picture,
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
    reasons: dict[tuple[str, str], list[str]] = {}
    for variable in plan.variables:
        for said in variable.reasons.items():
            reasons.setdefault(said, []).append(variable.name)
    missing = [
        (first_few(names, _NAMED_VARIABLES), what, reason)
        for (what, reason), names in reasons.items()
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
    for names, row in _rows(plan):
        table.add_row(escape(names), *_plan_row(row), style=None if row.sensitive else "dim")
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
            first_few((r.name for r in rows), _NAMED_VARIABLES)
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
            f"{first_few(columns, _NAMED_VARIABLES)} left before: epsilon {loss.texts[0]},"
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


PLAN = ReportView("plan.html", _drawn, _printed)


# What people are told when a publication has ended: what left, and what was found wrong.


def outcome_lines(outcome: PublishOutcome) -> list[str]:
    """Say what a publication ended with."""
    done = "is already sealed; nothing was sent" if outcome.already else "is sealed"
    said = [f"Release {outcome.name} {done}: {_held(outcome)}, digest {outcome.digest[:12]}."]
    if not outcome.asked:
        said.append(
            "Its folder was removed from the outbox, so the miner was not asked whether it still"
            " has the release, and could not get it again."
        )
    if outcome.stale:
        said.append(
            f"{outcome.stale:,} records keep the report of a value that was corrected since."
        )
    return said


def _held(outcome: PublishOutcome) -> str:
    """Say what a release holds."""
    if outcome.kind == SHARED_TREE:
        paths = f"{outcome.leaves:,} path{'' if outcome.leaves == 1 else 's'}"
        return f"a tree of {paths}, {outcome.method}"
    how = f" masked by {outcome.method}" if outcome.method else ""
    many = "s" if outcome.parts > 1 else ""
    return f"{outcome.records:,} records{how} in {outcome.parts} part{many}"


def inconsistency(outcome: PublishOutcome) -> list[str]:
    """Return the warning that a release does not fit its plan, if the miner says so."""
    said = outcome.consistency
    if said is None or said.state != "inconsistent" or said.p_value is None:
        return []
    # The estimators come with it, and no other command needs them.
    from pramana_core.estimation.plausibility import RATE

    found = (
        f"the miner finds that the reports of {', '.join(said.variables)} do not fit the transition"
        f" matrices they were sent with (p = {said.p_value:.2g}). Of releases made by their plan at"
        f" most one in {1 / RATE:,.0f} looks so. Another version of the agent may have made this"
        " one, with other matrices than it declares, or a column may have been sent as it was. The"
        " release is sealed, and whoever uses it is warned; withdraw it if you find the cause."
    )
    return [found]


def changes(outcome: PublishOutcome) -> list[str]:
    """Return the warning that records are reported differently than before by the same draws."""
    changed = [one for one in outcome.repeated if one.changed]
    if not changed:
        return []
    each = ", ".join(
        f"{one.changed:,} of {one.records:,} in {'*'.join(one.variables)}" for one in changed
    )
    earlier = list(dict.fromkeys(name for one in changed for name in one.releases))
    found = (
        "the miner finds records that this release reports differently than earlier ones"
        f" ({', '.join(earlier)}) by the same draws: {each}. Whoever has these releases knows that"
        " these people's values changed, and no epsilon bounds that; the study's sums count the"
        " reports as drawn anew. What left cannot be called back. This agent did not know what it"
        " had reported: restore its state folder from your backup before you publish again."
    )
    return [found]


def found_wrong(outcome: PublishOutcome) -> list[str]:
    """Return what the miner found wrong with a release."""
    return inconsistency(outcome) + changes(outcome)
