"""The pages of studies: what was spent, which records are where, and what to do next."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fastapi import Request, Response

from miner_service.http.access.access import Caller
from miner_service.http.access.deps import CallerDep, ServicesDep, StudyPath
from miner_service.http.access.routing import RuledRouter
from miner_service.http.endpoints import jobs, releases, results, studies
from miner_service.http.endpoints.results import models_of
from miner_service.http.pages.rendering import NewestDep, newest, page, release_words
from miner_service.intake.reports import counts
from miner_service.store.schema import ReportPlanRow
from miner_service.store.tokens import tokens_ending
from pramana_core.pages.forms import ROOT
from pramana_core.wire.privacy import StudyPrivacy

router = RuledRouter(prefix=ROOT, include_in_schema=False)

_COLUMNS = 40
"""The most columns on the page of a study: those with the largest losses."""

_ALL_COLUMNS = 1000
_FEW = 5


@router.get("/studies", name="list_studies")
def show_studies(
    request: Request, services: ServicesDep, caller: CallerDep, paging: NewestDep
) -> Response:
    """Show the studies of who asks."""
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
    """Show where a study stands."""
    told = studies.read_privacy(study, services, caller)
    alignment = results.read_alignment(study, services, caller)
    few = newest(_FEW)
    found = studies.list_owners(study, services, newest(100))
    with services.database.read() as session:
        models = models_of(session, caller, study, few)
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
        privacy=told,
        single=single,
        spent=Spent.of(told, caller, _COLUMNS),
        alignment=alignment,
        releases=[(one, release_words(one)) for one in sent.items],
        jobs=run.items,
        models=models.items,
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
    """Show what was released for a study, under which plan; an owner sees what is hers."""
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
    """Show what was told of each column."""
    told = studies.read_privacy(study, services, caller)
    return page(
        request,
        "privacy.html.j2",
        title=f"{study}: privacy",
        study=study,
        privacy=told,
        spent=Spent.of(told, caller, _ALL_COLUMNS),
    )


@dataclass(frozen=True)
class BudgetBar:
    """A bar with its words: what was spent and left; `spent` is None where nothing bounds it."""

    owner: str
    what: str
    spent: float | None
    left: float | None


@dataclass(frozen=True)
class Spent:
    """The bars of a study: of owners and of the record, and of columns, the largest first."""

    owners: list[BudgetBar]
    columns: list[BudgetBar]
    hidden: int

    @classmethod
    def of(cls, disclosure: StudyPrivacy, caller: Caller, most: int) -> Spent:
        """Return what a caller sees: an owner what is hers, and what all come to."""
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
        columns = [
            BudgetBar(
                one.owner,
                one.variable,
                None if one.amplification is None else one.amplification.epsilon,
                one.left,
            )
            for one in disclosure.columns
            if own in (None, one.owner)
        ]
        columns.sort(key=lambda line: -(math.inf if line.spent is None else line.spent))
        return cls(whose, columns[:most], len(columns) - most)

    @property
    def scale(self) -> float:
        """The length of the longest bar of columns that ends."""
        return _scale(self.columns)

    @property
    def owners_scale(self) -> float:
        """The length of the longest bar of owners that ends."""
        return _scale(self.owners)


def _scale(lines: list[BudgetBar]) -> float:
    ending = [one.spent + (one.left or 0.0) for one in lines if one.spent is not None]
    return max(ending, default=0.0) or 1.0
