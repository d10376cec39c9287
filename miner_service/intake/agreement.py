"""The plan that a study's owners agree on, and whether a release follows it.

With a plan each owner releases its part whole. The plan stays once a release follows it.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Session

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
from miner_service.store.schema import ReportPlanRow
from pramana_core.channels import Coordinated
from pramana_core.errors import BudgetExceeded, Conflict, StudyPlanNotFollowed, require_at_most
from pramana_core.plan import Plan
from pramana_core.study_plan import StudyPlan
from pramana_core.wire.release_kinds import KINDS, RANDOMIZED, ReleaseKind
from pramana_core.wire.study_plans import StudyPlanMessage

_SLACK = 1 + 1e-9
"""A budget is kept to nine digits, as in `study_privacy`."""


def agree(services: Services, study: str, message: StudyPlanMessage) -> tuple[StudyPlan, bool]:
    """Give a study its plan, or find the same one; say which.

    Raises LimitExceeded, PlanError, ChannelError, DomainError, BudgetExceeded, Conflict.
    """
    plan = checked_study_plan(services.settings.limits, message)
    with services.database.write() as session:
        found = find_study_plan(session, study)
        if found is not None and found.digest == plan.digest:
            return found, False
        _require_known(services, session, study, plan)
        _require_within(find_study(session, study).record_limit, plan)
        _require_free(session, study, plan)
        store_study_plan(session, study, plan, services.now())
    return plan, True


def withdraw_agreement(services: Services, study: str) -> None:
    """Leave a study without a plan; again is harmless. Raises Conflict."""
    with services.database.write() as session:
        _require_free(session, study, None)
        remove_study_plan(session, study)


def agreed_plan(session: Session, study: str) -> StudyPlan:
    """Return the plan of a study. Raises NotFound."""
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
        f"Take your part from the study plan (GET /v1/studies/{study}/plan); columns outside it,"
        " and all of an owner that it does not name, must be public or withheld."
        if found is not None
        else "Agree on the study plan first, or release by a plan of your own."
    )
    raise StudyPlanNotFollowed(
        f"The release does not follow the study's plan: {'; '.join(why)}.",
        where=owner,
        remedy=remedy,
    )


def departures(
    study_plan: StudyPlan | None, owner: str, kind: ReleaseKind[Any, Any], content: Any
) -> list[str]:
    """Return in words where a release does not follow a plan, or uses a coin without one."""
    plan = kind.plan(content)
    if plan is None:
        return _beside(study_plan, kind, content)
    if study_plan is not None:
        return list(study_plan.departures(owner, plan))
    return [
        f"its block of {len(block.names)} variables, {block.names[0]!r} first, is a part of the"
        f" study plan {block.channel.coin[:12]}..., and the study has none"
        for block in plan.blocks
        if isinstance(block.channel, Coordinated)
    ]


def _beside(study_plan: StudyPlan | None, kind: ReleaseKind[Any, Any], content: Any) -> list[str]:
    """Return which columns of a release without a plan are randomized by a study's plan."""
    planned = {v.name for _, owned in study_plan.owners for v in owned} if study_plan else set()
    how = "more" if kind.unbounded(content) is None else "without a bound"
    return [
        f"the plan randomizes {name!r}, of which this release would tell {how}"
        for name in kind.columns(content)
        if name in planned
    ]


def checked_study_plan(limits: Limits, message: StudyPlanMessage) -> StudyPlan:
    """Return a message's plan within limits. Raises LimitExceeded, PlanError, ChannelError."""
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
            f"The study plan names {unknown}, neither in study {study} nor invited to it; its"
            f" owners and invited ones are {sorted(known)}.",
            where=", ".join(unknown),
            remedy="Invite them first, or name the owners in the plan as the study does.",
        )


def _require_within(limit: float | None, plan: StudyPlan) -> None:
    """Check a plan against a study's budget for a record. Raises BudgetExceeded."""
    if limit is not None and plan.amplification.epsilon > limit * _SLACK:
        raise BudgetExceeded(
            f"The study plan tells epsilon {plan.amplification.epsilon:.4g} of a record; the"
            f" study's budget for it is {limit:.4g}.",
            where="record",
            remedy="Design it for what the study allows, or change the budget.",
        )


def _require_free(session: Session, study: str, plan: StudyPlan | None) -> None:
    """Check that every release that arrived, or still may, follows a plan, or needs none."""
    for row, arrived in announced_releases(session, study):
        if not arrived and row.state != "open":
            continue
        kind, content = kind_of_release(row), content_of(row)
        plan_sent = kind.plan(content)
        if plan_sent and _is_public(plan_sent):
            continue
        why = departures(plan, row.owner, kind, content)
        if why:
            message = f"Release {row.name} of {row.owner} would not follow: {'; '.join(why)}."
            raise Conflict(message, where=row.id, remedy=_IN_THE_WAY)
    single = session.get(ReportPlanRow, study)
    # Withdrawn before anybody answered, it told nothing.
    if single is not None and plan is not None and (single.records or single.state == "open"):
        published = report_plan_of(single)
        why = departures(plan, single.owner, KINDS[RANDOMIZED], published)
        if why and not _is_public(published):
            message = f"The plan published to {single.owner} would not follow: {'; '.join(why)}."
            raise Conflict(message, where=single.owner, remedy=_IN_THE_WAY)


def _is_public(plan: Plan) -> bool:
    """Return whether a plan tells public columns alone: they say nothing that a plan bounds."""
    return all(block.channel.is_identity or block.channel.withheld for block in plan.blocks)


_IN_THE_WAY = (
    "What was told stays told: agree on the plan before anything randomized is released, and on"
    " another one in a study of its own. A release of which nothing arrived can be withdrawn."
)
