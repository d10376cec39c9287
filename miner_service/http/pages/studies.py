"""Pages of studies: privacy spent, alignment of records, and next steps."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from fastapi import Request, Response

from miner_service.http.access.access import Caller
from miner_service.http.access.deps import CallerDep, ServicesDep, StudyPath
from miner_service.http.access.routing import RuledRouter
from miner_service.http.endpoints import jobs, releases, results, studies
from miner_service.http.pages.rendering import NewestDep, newest, page, release_words
from miner_service.intake.reports import counts
from miner_service.services import Services
from miner_service.store.releases import content_of, releases_in_use
from miner_service.store.schema import ReportPlanRow
from miner_service.store.tokens import tokens_ending
from pramana_core.pages.forms import ROOT
from pramana_core.pages.words import named
from pramana_core.report.numbers import belief
from pramana_core.rounding import rounded_up
from pramana_core.wire.privacy import StudyPrivacy
from pramana_core.wire.release_kinds import RANDOMIZED

router = RuledRouter(prefix=ROOT, include_in_schema=False)

_COLUMNS = 40
"""Maximum number of columns on a study's page, which shows the columns with the largest losses."""

_ALL_COLUMNS = 1000
_FEW = 5


@router.get("/studies", name="list_studies")
def show_studies(
    request: Request, services: ServicesDep, caller: CallerDep, paging: NewestDep
) -> Response:
    """Show the caller's studies."""
    found = studies.list_studies(services, caller, paging)
    with services.database.read() as session:
        ending = tokens_ending(
            session,
            services.now(),
            days=services.settings.tokens.warn_days,
            study=caller.study,
            owner=caller.as_owner,
        )
    return page(request, "studies.html.j2", title="Studies", found=found, ending=ending)


@router.get("/studies/{study}", name="read_study")
def show_study(
    request: Request, study: StudyPath, services: ServicesDep, caller: CallerDep
) -> Response:
    """Show the state of a study."""
    privacy = studies.read_privacy(study, services, caller)
    alignment = results.read_alignment(study, services, caller)
    few = newest(_FEW)
    found = studies.list_owners(study, services, newest(100))
    with services.database.read() as session:
        published = caller.as_owner is None and session.get(ReportPlanRow, study) is not None
        single = counts(session, study) if published else None
    sent = releases.list_releases(study, services, caller, few)
    run = jobs.list_jobs(study, services, caller, few)
    return page(
        request,
        "study.html.j2",
        title=study,
        study=studies.read_study(study, services, caller),
        owners=found,
        own=lambda name: caller.as_owner in (None, name),
        privacy=privacy,
        single=single,
        spent=Spent.of(privacy, caller, _COLUMNS, blocks_of(services, study)),
        sums=sum_words(privacy),
        grows=belief(privacy.record.determined.to_amplification(), privacy.prior),
        alignment=alignment,
        releases=[(one, release_words(one)) for one in sent.items],
        jobs=run.items,
    )


@router.get("/studies/{study}/owners", name="list_owners")
def show_owners(
    request: Request, study: StudyPath, services: ServicesDep, paging: NewestDep
) -> Response:
    """Show the owners of a study."""
    found = studies.list_owners(study, services, paging)
    return page(request, "owners.html.j2", title=f"{study}: owners", study=study, found=found)


@router.get("/studies/{study}/releases", name="list_releases")
def show_releases(
    request: Request, study: StudyPath, services: ServicesDep, caller: CallerDep, paging: NewestDep
) -> Response:
    """Show a study's releases with their plans; an owner sees its own."""
    found = releases.list_releases(study, services, caller, paging)
    return page(
        request,
        "releases.html.j2",
        title=f"{study}: releases",
        study=study,
        found=found,
        releases=[(one, release_words(one)) for one in found.items],
    )


@router.get("/studies/{study}/privacy", name="read_privacy")
def show_privacy(
    request: Request, study: StudyPath, services: ServicesDep, caller: CallerDep
) -> Response:
    """Show what the releases disclose about each column."""
    privacy = studies.read_privacy(study, services, caller)
    return page(
        request,
        "privacy.html.j2",
        title=f"{study}: privacy",
        study=study,
        privacy=privacy,
        spent=Spent.of(privacy, caller, _ALL_COLUMNS, blocks_of(services, study)),
        sums=sum_words(privacy),
    )


Blocks = Mapping[tuple[str, str], tuple[str, ...]]
"""The names of the variables in a block, by the owner and the name of each variable."""


def blocks_of(services: Services, study: str) -> Blocks:
    """Return the blocks of the releases in use."""
    with services.database.read() as session:
        rows = releases_in_use(session, study, RANDOMIZED).items()
        plans = [(owner, content_of(row)) for owner, row in rows]
    return {(o, n): block.names for o, plan in plans for block in plan.blocks for n in block.names}


def sum_words(privacy: StudyPrivacy) -> str:
    """Return why the owners' epsilons do not add up to the epsilon of the record, or ""."""
    record = privacy.record.determined.epsilon
    added = sum(one.determined.epsilon or math.inf for one in privacy.owners)
    if record is None or privacy.unbounded or math.isclose(added, record, rel_tol=1e-6):
        return ""
    sums = rounded_up(added), rounded_up(record)
    sentence = "The owners' epsilons add up to {}, the record's is only {}: ".format(*sums)
    if privacy.different_people:
        return f"{sentence}the owners have different people, so each record is at one owner only."
    if privacy.study_plan is not None:
        return (
            f"{sentence}under the study plan, each record reports one set of variables at all"
            " owners. Losses add up within a set, and the record has the loss of the worst set."
        )
    return f"{sentence}draws that several releases share count once."


@dataclass(frozen=True)
class BudgetBar:
    """A bar of spent and remaining epsilon. `spent` is None if no epsilon bounds the loss."""

    owner: str
    what: str
    spent: float | None
    left: float | None
    joint: bool = False


@dataclass(frozen=True)
class Spent:
    """A study's bars: for each owner, for a whole record, and for each column, largest loss first.

    The columns of a block share one bar, because they share its epsilon.
    """

    owners: list[BudgetBar]
    columns: list[BudgetBar]
    hidden: int

    @classmethod
    def of(cls, disclosure: StudyPrivacy, caller: Caller, most: int, blocks: Blocks) -> Spent:
        """Return the bars that a caller may see; an owner sees only its own and the record's."""
        own, left = caller.as_owner, disclosure.budget.left_for_record
        by_owner = {one.owner: one.determined.epsilon for one in disclosure.owners}
        by_owner |= dict.fromkeys(one.owner for one in disclosure.unbounded)
        whose = [
            BudgetBar(owner, "", epsilon, None)
            for owner, epsilon in sorted(by_owner.items())
            if own in (None, owner)
        ]
        record = None if disclosure.unbounded else disclosure.record.determined.epsilon
        whose.append(BudgetBar("", "the whole record", record, left))
        alike: dict[tuple[str, tuple[str, ...], float | None, float | None], list[str]] = {}
        for one in disclosure.columns:
            if own in (None, one.owner):
                spent = None if one.amplification is None else one.amplification.epsilon
                known = blocks.get((one.owner, one.variable), (one.variable,))
                block = () if one.amplification is None else known
                alike.setdefault((one.owner, block, spent, one.left), []).append(one.variable)
        columns = [
            BudgetBar(owner, named(names), spent, rest, joint=spent is not None and len(names) > 1)
            for (owner, _, spent, rest), names in alike.items()
        ]
        columns.sort(key=lambda line: -(math.inf if line.spent is None else line.spent))
        return cls(whose, columns[:most], len(columns) - most)

    @property
    def scale(self) -> float:
        """The length of the longest bar of a column with a bounded loss."""
        return _scale(self.columns)

    @property
    def owners_scale(self) -> float:
        """The length of the longest bar of an owner with a bounded loss."""
        return _scale(self.owners)


def _scale(lines: list[BudgetBar]) -> float:
    ending = [one.spent + (one.left or 0.0) for one in lines if one.spent is not None]
    return max(ending, default=0.0) or 1.0
