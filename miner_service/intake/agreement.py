"""The study plan that a study's owners agree on, and the check that releases follow it.

Each owner releases its whole part of the plan. The plan is fixed once a release follows it.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Session

from miner_service.intake.central import budgeted_epsilon
from miner_service.services import Services
from miner_service.settings import Limits
from miner_service.store.people import (
    awaited_owners,
    find_study,
    find_study_plan,
    no_such,
    remove_study_plan,
    store_study_plan,
)
from miner_service.store.releases import announced_releases, content_of, kind_of_release
from miner_service.store.report_rows import report_plan_of
from miner_service.store.schema import ReportPlanRow, StudyRow
from pramana_core.channels import Coordinated
from pramana_core.errors import BudgetExceeded, Conflict, StudyPlanNotFollowed, require_at_most
from pramana_core.plan import Plan
from pramana_core.rounding import rounded_down, rounded_up
from pramana_core.study_plan import StudyPlan
from pramana_core.wire.release_kinds import KINDS, RANDOMIZED, ReleaseKind
from pramana_core.wire.study_plans import StudyPlanMessage

SLACK = 1 + 1e-9
"""Relative tolerance of budgets, because epsilons are logarithms of rounded numbers."""


def agree(services: Services, study: str, message: StudyPlanMessage) -> tuple[StudyPlan, bool]:
    """Store a study's plan, or find the identical one. Return the plan and whether it is new.

    Raises LimitExceeded, PlanError, ChannelError, DomainError, BudgetExceeded, Conflict.
    """
    plan = checked_study_plan(services.settings.limits, message)
    with services.database.write() as session:
        found = find_study_plan(session, study)
        if found is not None and found.digest == plan.digest:
            return found, False
        _require_known(services, session, study, plan)
        require_within(find_study(session, study), plan)
        _require_free(session, study, plan)
        store_study_plan(session, study, plan, services.now())
    return plan, True


def withdraw_agreement(services: Services, study: str) -> None:
    """Remove a study's plan, if any. Raises Conflict."""
    with services.database.write() as session:
        _require_free(session, study, None)
        remove_study_plan(session, study)


def agreed_plan(session: Session, study: str) -> StudyPlan:
    """Return a study's plan. Raises NotFound."""
    found = find_study_plan(session, study)
    if found is None:
        raise no_such("study plan")
    return found


def require_followed(
    session: Session, study: str, owner: str, kind: ReleaseKind[Any, Any], content: Any
) -> None:
    """Check that an owner's release follows the study's plan. Raises StudyPlanNotFollowed."""
    found = find_study_plan(session, study)
    why = departures(found, owner, kind, content)
    if not why:
        return
    remedy = (
        f"Use your part of the study plan (GET /v1/studies/{study}/plan). Columns outside the plan,"
        " and all columns of an owner outside the plan, must be public or withheld."
        if found is not None
        else "Agree on the study plan first, or release under your own plan."
    )
    raise StudyPlanNotFollowed(
        f"The release does not follow the study's plan: {'; '.join(why)}.",
        where=owner,
        remedy=remedy,
    )


def departures(
    study_plan: StudyPlan | None, owner: str, kind: ReleaseKind[Any, Any], content: Any
) -> list[str]:
    """List how a release departs from the study's plan.

    A block with a coin is a departure if the study has no plan.
    """
    plan = kind.plan(content)
    if plan is None:
        return _departures_without_plan(study_plan, kind, content)
    if study_plan is not None:
        return list(study_plan.departures(owner, plan))
    return [
        f"its block of {len(block.names)} variables, starting with {block.names[0]!r}, belongs to"
        f" the study plan {block.channel.coin[:12]}..., but the study has no plan"
        for block in plan.blocks
        if isinstance(block.channel, Coordinated)
    ]


def _departures_without_plan(
    study_plan: StudyPlan | None, kind: ReleaseKind[Any, Any], content: Any
) -> list[str]:
    """List the columns that the study plan randomizes and a release without a plan discloses."""
    planned = {v.name for _, owned in study_plan.owners for v in owned} if study_plan else set()
    how = "further" if kind.unbounded(content) is None else "without a bound"
    return [
        f"the plan randomizes {name!r}, which this release would disclose {how}"
        for name in kind.columns(content)
        if name in planned
    ]


def checked_study_plan(limits: Limits, message: StudyPlanMessage) -> StudyPlan:
    """Check and return the plan in a message. Raises LimitExceeded, PlanError, ChannelError."""
    variables = [v for owner in message.owners for v in owner.variables]
    found = {
        "variables": (len(variables), limits.variables),
        "categories": (sum(len(v.categories) for v in variables), limits.categories),
        "subsets": (len(message.sets), limits.subsets),
    }
    for what, (number, allowed) in found.items():
        require_at_most(number, allowed, f"{what} of the study plan", what)
    plan = message.to_plan()
    largest = max(part.channel.listed_rows for one in plan.sets for part in one.parts)
    remedy = "Use symmetric channels, or sets of fewer variables."
    require_at_most(largest, limits.channel_size, "rows of a matrix", "sets", remedy)
    return plan


def _require_known(services: Services, session: Session, study: str, plan: StudyPlan) -> None:
    known = awaited_owners(session, study, services.now())
    unknown = [name for name, _ in plan.owners if name not in known]
    if unknown:
        raise Conflict(
            f"The study plan names {unknown}, who are neither owners of study {study} nor invited."
            f" Owners and invited owners are {sorted(known)}.",
            where=", ".join(unknown),
            remedy="Invite these owners first, or use the study's owner names in the plan.",
        )


def require_within(study: StudyRow, plan: StudyPlan) -> None:
    """Check a plan against a study's budgets for a record. Raises BudgetExceeded."""
    most, local = study.central_limit, plan.amplification.epsilon
    checked = [("", study.max_epsilon_record, local)]
    if most is not None and local > most * SLACK:
        checked.append(("central ", study.max_central_epsilon, budgeted_epsilon(study, plan)))
    for which, limit, epsilon in checked:
        if limit is not None and epsilon > limit * SLACK:
            raise BudgetExceeded(
                f"The study plan costs {which}epsilon {rounded_up(epsilon)} per record; the study's"
                f" budget per record is {rounded_down(limit)}.",
                where="record",
                remedy="Design a plan within the study's budget, or change the budget.",
            )


def _require_free(session: Session, study: str, plan: StudyPlan | None) -> None:
    """Check that every arrived or open release follows a plan or has only public columns."""
    for row, arrived in announced_releases(session, study):
        if not arrived and row.state != "open":
            continue
        kind, content = kind_of_release(row), content_of(row)
        plan_sent = kind.plan(content)
        if plan_sent and _is_public(plan_sent):
            continue
        why = departures(plan, row.owner, kind, content)
        if why:
            message = f"Release {row.name} of {row.owner} departs from the plan: {'; '.join(why)}."
            raise Conflict(message, where=row.id, remedy=_IN_THE_WAY)
    single = session.get(ReportPlanRow, study)
    # A plan withdrawn before the first report disclosed nothing.
    if single is not None and plan is not None and (single.records or single.state == "open"):
        published = report_plan_of(single)
        why = departures(plan, single.owner, KINDS[RANDOMIZED], published)
        if why and not _is_public(published):
            message = f"The plan published for {single.owner} departs from it: {'; '.join(why)}."
            raise Conflict(message, where=single.owner, remedy=_IN_THE_WAY)


def _is_public(plan: Plan) -> bool:
    """Return whether a plan has only public columns, which a study plan does not limit."""
    return all(block.channel.is_identity or block.channel.withheld for block in plan.blocks)


_IN_THE_WAY = (
    "A disclosure cannot be undone. Agree on the plan before the first randomized release, and use"
    " a new study for a different plan. A release without arrived parts can be withdrawn."
)
