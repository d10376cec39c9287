"""The report of a site as its file and its table are now, and what is asked before it publishes."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from owner_agent.release.agreement import require_agreed_by
from owner_agent.report.contents import Assumptions
from owner_agent.report.corrected import corrected_of
from owner_agent.report.curves import read_priors
from owner_agent.report.losses import losses_of
from owner_agent.report.report import PlanReport, report
from owner_agent.report.thresholds import THRESHOLD
from owner_agent.report.whole_study import StudyForecast, outlook_of
from owner_agent.site.mistakes import CorrectionChoice
from owner_agent.site.planning import PlannedSite, planned
from owner_agent.site.site import Site
from owner_agent.state.environment import Environment
from owner_agent.table.table import read_table
from pramana_core.progress import StagedProgress, unwatched

STAGES = {"corrected": "looking for corrected records", "measuring": "measuring the plan"}
"""What is being done, by what `watch` is told."""


def site_report(
    site: Site,
    environment: Environment,
    records: int | None = None,
    prior: Path | None = None,
    threshold: float = THRESHOLD,
    watch: StagedProgress = lambda _stage, _done, _total: None,
) -> PlanReport:
    """Return what publishing would reveal.

    Args:
        site: the site.
        environment: how the miner is reached, which says what the whole study tells.
        records: N; without it those of the table, which are then compared with what left before.
        prior: a file of an attacker's beliefs.
        threshold: the posterior above which a category is plausible.
        watch: told of the progress, by the names of `STAGES`.

    Raises:
        InputError: the site file, the table or the beliefs are wrong.
        StoreCorrupt: what left before is not remembered.
    """
    plan = planned(site)
    assumed = Assumptions({} if prior is None else read_priors(prior, plan), threshold)
    corrected = None
    if records is None:
        corrected = corrected_of(site, plan, partial(watch, "corrected"))
        records = read_table(site.table, [site.file.record_id]).rows
    renewed = () if corrected is None else corrected.renewed(None)
    losses = losses_of(site, plan, renewed)
    outlook = outlook_of(site, plan, environment, renewed)
    return report(plan, records, assumed, losses, corrected, outlook, partial(watch, "measuring"))


def forecast_of(
    site: Site, plan: PlannedSite, environment: Environment, corrections: CorrectionChoice | None
) -> StudyForecast | str | None:
    """Ask the miner what a publication would add, corrected records as chosen; see `outlook_of`."""
    fresh = (corrections or site.file.corrections) == "fresh"
    found = corrected_of(site, plan, unwatched) if fresh else None
    renewed = found.renewed(corrections) if found is not None else ()
    return outlook_of(site, plan, environment, renewed)


def require_accepted(
    site: Site, plan: PlannedSite, environment: Environment, told: StudyForecast | str | None
) -> None:
    """Refuse, before anything is randomized, what the miner said that it would refuse.

    Raises:
        BudgetExceeded: the study's limit leaves less than the release would tell.
        StudyPlanNotFollowed, LinkageDiffers: as `require_agreed_by`, which is looked at first.
    """
    if isinstance(told, StudyForecast) and told.forecast.refused is not None:
        require_agreed_by(site, plan.adopted, environment)
        told.require_accepted()


def others_apart(site: Site) -> list[str]:
    """Say that columns of [mask] and [share_model] leave by commands of their own, if any do."""
    said = []
    if site.file.mask is not None:
        said.append(
            f"Masked columns ({', '.join(site.file.mask.confidential)}) are no part of this:"
            " `owner-agent mask` reports on them, and `owner-agent mask --publish` sends them."
        )
    if site.file.share_model is not None:
        said.append(
            f"The tree of {site.file.share_model.target.column} is no part of this:"
            " `owner-agent share-model` shows it, and `owner-agent share-model --publish` sends"
            " it."
        )
    return said
