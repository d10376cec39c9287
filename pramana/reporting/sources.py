"""What people pass as reports, understood: reports, a frame and its plan, or several of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias, TypeGuard

from miner_service.alignment.align import overlap_of
from pramana.frames.tables import Frame, shown
from pramana.reporting.reports import Reports
from pramana_core.channels import CONDITION_LIMIT
from pramana_core.errors import EmptyTable, OptionError, PlanError, RecordsDoNotAlign, TableError
from pramana_core.estimation.core.axes import joined
from pramana_core.plan import Plan
from pramana_core.wire.base import KEY_BYTES

if TYPE_CHECKING:
    from pramana_core.estimation.estimated import Estimator

Source: TypeAlias = Reports | tuple[Frame, Plan]
"""Reports, or a frame of them with the plan that made it."""

Sources: TypeAlias = Source | Sequence[Source] | Frame
"""What `estimate` and `fit` take first: one source, a list of several, or a frame with a plan."""

WANTED = "Reports, a frame with its plan, or a list of these"


def sources_of(reports: Sources, plan: Plan | None) -> tuple[Reports, ...]:
    """Return what was passed to `estimate` or `fit` as reports with their plans.

    Raises:
        TableError: it is neither reports nor a table.
        PlanError: a plan is missing, is not a plan, or is not that of the reports.
        EmptyTable: an empty list.
        DomainError: two sources list other categories of one variable.
        RecordsDoNotAlign: somebody of one source is in another, too.
    """
    if isinstance(reports, Plan):
        told = "the plan comes second, as in pm.estimate(frame, plan)"
        raise TableError(f"reports must be {WANTED}, not a Plan; {told}.", where="reports")
    if _is_pair(reports):
        _require_no_plan(plan, "a pair of a frame and its plan")
        frame, own = reports
        return (_of_one(frame, own, "reports"),)
    if isinstance(reports, list | tuple) and not _is_records(reports):
        _require_no_plan(plan, "a list, each with a plan of its own")
        return _of_several(reports)
    return (_of_one(reports, plan, "reports"),)


def choose(plans: Sequence[Plan]) -> Estimator:
    """Return the estimator that serves sources of some plans best (see `estimate`)."""
    blocks = [block for plan in plans for block in plan.blocks]
    if any(block.channel.choices for block in blocks):
        return "pooled"
    told = [
        {name for b in plan.blocks if not b.channel.withheld for name in b.names} for plan in plans
    ]
    channels = [block.channel for block in blocks if not block.channel.withheld]
    if any(names != told[0] for names in told):
        return "ml"
    if any(channel.condition_number > CONDITION_LIMIT for channel in channels):
        return "ml"
    return "moment"


def require_order(order: object) -> None:
    """Refuse what is no order of interaction; None is one. Raises OptionError."""
    if order is None:
        return
    if isinstance(order, bool) or not isinstance(order, int) or order < 1:
        raise OptionError(
            f"order must be a whole number of at least 1, not {shown(order)}.", where="order"
        )


def _is_pair(given: object) -> TypeGuard[tuple[Frame, Plan]]:
    return (
        isinstance(given, tuple)
        and len(given) == 2
        and isinstance(given[1], Plan)
        and not isinstance(given[0], Plan)
    )


def _is_records(given: Sequence[object]) -> bool:
    return len(given) > 0 and all(isinstance(row, Mapping) for row in given)


def _of_several(several: Sequence[object]) -> tuple[Reports, ...]:
    if not several:
        raise EmptyTable(
            "reports is an empty list; it must hold Reports or pairs (frame, plan).",
            where="reports",
        )
    if len(several) == 2 and isinstance(several[0], Plan):
        raise TableError(
            "reports must be a pair (frame, plan), not (plan, frame).", where="reports"
        )
    found = []
    for place, one in enumerate(several):
        argument = f"reports[{place}]"
        if isinstance(one, Reports):
            found.append(one)
        elif isinstance(one, list | tuple) and len(one) == 2:
            found.append(_of_one(one[0], one[1], argument))
        else:
            raise TableError(
                f"{argument} must be Reports or a pair (frame, plan), not {shown(one)}.",
                where="reports",
            )
    joined([source.domain for source in found])
    for first, second in combinations(range(len(found)), 2):
        _require_other_people(found[first], found[second], f"reports[{first}]", f"[{second}]")
    return tuple(found)


def _require_other_people(first: Reports, second: Reports, *places: str) -> None:
    """Check that nobody of one source is in another, too. Raises RecordsDoNotAlign."""
    if first.pseudonyms is None or second.pseudonyms is None:
        return
    keys = [
        pseudonyms.view(f"S{KEY_BYTES}") for pseudonyms in (first.pseudonyms, second.pseudonyms)
    ]
    twice = overlap_of(keys).in_all
    if not twice:
        return
    all_of_one = twice == min(len(first), len(second))
    if set(first.domain.names).isdisjoint(second.domain.names):
        how = "" if len(first) == len(second) == twice else "(..., how='any')"
        hint = f"put their columns side by side with pm.join{how}"
    else:
        hint = f"leave {'one of them' if all_of_one else 'these people'} out"
        hint += "" if all_of_one else " of one of them"
    have = "are of the same" if all_of_one else "both have"
    raise RecordsDoNotAlign(
        f"{places[0]} and {places[1]} {have} {twice:,} people, and a list is of different people;"
        f" {hint}.",
        where="reports",
    )


def _of_one(reports: object, plan: object, argument: str) -> Reports:
    if isinstance(reports, Plan):
        raise TableError(
            f"{argument} must be a frame and then its plan, not the plan first.", where="reports"
        )
    if plan is not None and not isinstance(plan, Plan):
        raise PlanError(f"plan must be a Plan, not {shown(plan)}.", where="plan")
    if isinstance(reports, Reports):
        if plan is not None and plan.digest != reports.plan.digest:
            raise PlanError(
                "plan is another than the one the reports were made under; leave it out, for"
                " reports have their own.",
                where="plan",
            )
        return reports
    if plan is None:
        _require_table(reports, argument)
        raise PlanError(
            f"{argument} is {shown(reports)} without a plan; pass the plan that randomized it, or,"
            " for a table that was not randomized, pm.Plan.unrandomized(domain).",
            where="plan",
        )
    _require_table(reports, argument)
    return Reports.from_frame(reports, plan)


def _require_table(given: object, argument: str) -> None:
    if given is None or isinstance(given, str | int | float) or callable(given):
        raise TableError(f"{argument} must be {WANTED}, not {shown(given)}.", where="reports")


def _require_no_plan(plan: object, given: str) -> None:
    if plan is not None:
        raise OptionError(f"plan must be left out, for reports is {given}.", where="plan")
