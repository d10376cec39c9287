"""The report of a plan: what its release would reveal and keep, and that of a site as it stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from owner_agent.release.agreement import require_agreed_by
from owner_agent.release.publish import PreparedRecords
from owner_agent.report.accuracy import record_counts
from owner_agent.report.contents import (
    BlockReport,
    VariableReport,
    block_report,
    holds_sensitive,
    variable_report,
)
from owner_agent.report.corrected import Corrected, corrected_in, corrected_of
from owner_agent.report.losses import Bounds, Losses, losses_of, number
from owner_agent.report.thresholds import ALARMING, BELIEF, POSTERIOR, THRESHOLD
from owner_agent.report.whole_study import StudyForecast, outlook_of, study_json
from owner_agent.site.adopting import AdoptedPlan, adopted_json
from owner_agent.site.planning import PlannedSite, planned
from owner_agent.site.protection import share_proven
from owner_agent.site.site import Site
from owner_agent.state.environment import Environment
from owner_agent.table.encode import survey
from pramana_core.alike import first_few
from pramana_core.errors import OptionError
from pramana_core.plan import Block
from pramana_core.privacy import PRIOR
from pramana_core.progress import Progress, StagedProgress, unwatched

LISTED_CHOICES = 12
"""Of a sampled block so many parts are listed, and JSON has all."""


@dataclass(frozen=True)
class PlanReport:
    """The report of a plan at a number of records.

    `together` is about all sensitive variables at once, gamma the product over the blocks that hold
    any: it alone bounds what is learned of a variable of which other blocks tell too. `study` is
    what the miner says that all owners tell together, or why it was not asked; None where there is
    no miner. `adopted` is the study's plan, where the site follows one.
    """

    records: int
    plan_digest: str
    variables: tuple[VariableReport, ...]
    blocks: tuple[BlockReport, ...]
    together: Bounds
    losses: Losses | None
    corrected: Corrected | None
    study: StudyForecast | str | None
    warnings: tuple[str, ...]
    adopted: AdoptedPlan | None = None

    def widths(self) -> dict[str, list[float]]:
        """Return each variable's half width at each of `record_counts`, where it has one."""
        return {
            v.name: [v.half_width * (self.records / n) ** 0.5 for n in record_counts(self.records)]
            for v in self.variables
            if v.half_width is not None
        }

    def as_dict(self) -> dict[str, Any]:
        """Return JSON; an infinite number is null, and `unavailable` says why any other is."""
        sensitive = [block.name for block in self.blocks if block.sensitive]
        return {
            "records": self.records,
            "plan_digest": self.plan_digest,
            "rho_1": PRIOR,
            "rho_2": POSTERIOR,
            "belief": BELIEF,
            "threshold": THRESHOLD,
            "variables": [v.as_dict(self.records) for v in self.variables],
            "blocks": [b.as_dict(self.records) for b in self.blocks],
            "together": {"blocks": sensitive, **self.together.as_dict()},
            "widths": {
                "records": list(record_counts(self.records)),
                "half_widths": self.widths(),
            },
            "ledger": None if self.losses is None else self.losses.as_dict(),
            "corrections": None if self.corrected is None else self.corrected.as_dict(),
            **study_json(self.study),
            "study_plan": adopted_json(self.adopted),
            "warnings": list(self.warnings),
        }


def report(
    plan: PlannedSite,
    records: int,
    losses: Losses | None = None,
    corrected: Corrected | None = None,
    study: StudyForecast | str | None = None,
    tick: Progress = unwatched,
) -> PlanReport:
    """Report on a plan. Raises OptionError, LimitExceeded."""
    if records < 1:
        raise OptionError(f"records must be at least 1, not {records}.", where="records")
    blocks = plan.plan.blocks
    bounds = {block.name: Bounds.of(block.channel) for block in blocks}
    variables: list[VariableReport] = []
    for done, block in enumerate(blocks, start=1):
        variables += [
            variable_report(plan, block, name, records, bounds[block.name]) for name in block.names
        ]
        tick(done, len(blocks))
    joint = tuple(block_report(plan, block, records, bounds[block.name]) for block in blocks)
    return PlanReport(
        records=records,
        plan_digest=plan.plan.digest,
        variables=tuple(variables),
        blocks=joint,
        together=_together(plan),
        losses=losses,
        corrected=corrected,
        study=study,
        warnings=warnings(plan),
        adopted=plan.adopted,
    )


def warnings(plan: PlannedSite) -> tuple[str, ...]:
    """Return a sentence for everything that the custodian should not approve unawares.

    That is each sensitive variable of which some report proves its value or nearly anything, all
    sensitive variables together where their blocks' reports can, and each block in which a public
    variable's changes count as corrections of sensitive ones.
    """
    blocks = plan.plan.blocks
    alone = [
        _warning(block, name, bounds.told.gamma)
        for block in blocks
        if holds_sensitive(plan, block) and (bounds := Bounds.of(block.channel)).rho2 >= ALARMING
        for name in block.names
        if name in plan.sensitive
    ]
    telling = sum(holds_sensitive(plan, block) for block in blocks)
    if telling > 1 and (together := _together(plan)).rho2 >= ALARMING:
        alone.append(
            f"The reports of {telling} blocks together can turn a belief of {PRIOR:.0%} about a"
            f" sensitive variable into one of {ALARMING:.0%} or more (gamma"
            f" {together.told.written_gamma}), as far as their variables go together."
        )
    return (*alone, *(_mixed(plan, block) for block in blocks if _is_mixed(plan, block)))


def secrets_said(
    one_secret: Mapping[str, Sequence[str]], losses: Losses | None = None
) -> list[str]:
    """Return a sentence for each column that other columns tell, all of them randomized."""
    after = {} if losses is None else {one.column: one.texts[1] for one in losses.columns}
    return [
        f"Column {column!r} and {first_few(map(repr, others))} tell each other's"
        " values: they are one secret, and their losses add"
        f"{f' to epsilon {after[column]}' if column in after else ''}. Withhold one of them, or"
        " protect them in one block."
        for column, others in one_secret.items()
        if column < min(others)
    ]


def shares_reported(plan: PlanReport, block: BlockReport) -> str:
    """Say in a sentence how many records report each variable of a sampled block."""
    shares = {v.name: v.reported for v in plan.variables if v.block == block.name}
    each = first_few((f"{name} by {share:.1%}" for name, share in shares.items()), LISTED_CHOICES)
    return f"Reported are {each} of the records, in {len(block.choices):,} sets."


def _together(plan: PlannedSite) -> Bounds:
    return Bounds.together([b for b in plan.plan.blocks if holds_sensitive(plan, b)])


def _is_mixed(plan: PlannedSite, block: Block) -> bool:
    return holds_sensitive(plan, block) and not plan.sensitive.issuperset(block.names)


def _mixed(plan: PlannedSite, block: Block) -> str:
    public = [name for name in block.names if name not in plan.sensitive]
    redrawn = [name for name in block.names if name in plan.sensitive]
    return (
        f"{first_few(public)} {'is' if len(public) == 1 else 'are'} public but in a block with"
        f" {first_few(redrawn)}: a record whose public value there changes between two releases"
        " counts as corrected, and keeps its whole report unless all records are drawn anew."
    )


def _warning(block: Block, name: str, amplification: float) -> str:
    proven = share_proven(block, name)
    if proven > 0:
        return (
            f"{name} is sensitive, and some of its reports prove its value, for up to"
            f" {100 * proven:.4g}% of the records that have it."
        )
    if amplification == float("inf"):
        return f"{name} is sensitive, and some of its reports rule out a truth with certainty."
    return (
        f"{name} is sensitive, and some report can turn a belief of {PRIOR:.0%} about it into one"
        f" of {ALARMING:.0%} or more (gamma {number(amplification)})."
    )


STAGES = {"corrected": "looking for corrected records", "measuring": "measuring the plan"}
"""What is being done, by what `watch` is told."""


def site_report(
    site: Site,
    environment: Environment,
    records: int | None = None,
    watch: StagedProgress = lambda _stage, _done, _total: None,
    now: PreparedRecords | None = None,
    study: StudyForecast | str | None = None,
) -> PlanReport:
    """Return what publishing would reveal. Raises InputError, StoreCorrupt."""
    plan = planned(site)
    corrected: Corrected | None = None
    one_secret: Mapping[str, Sequence[str]] = {}
    if now is not None:
        records, one_secret, corrected = now.records, now.one_secret, corrected_in(now, site)
    elif records is None:
        corrected = corrected_of(site, plan, partial(watch, "corrected"))
        if corrected is not None and corrected.table is not None:
            records = len(corrected.table.reports.keys)
            one_secret = corrected.table.one_secret
        else:
            records, one_secret = survey(site, plan)
    losses = losses_of(site, plan, one_secret)
    outlook = study if now is not None else outlook_of(site, plan, environment)
    made = report(plan, records, losses, corrected, outlook, partial(watch, "measuring"))
    return replace(made, warnings=(*made.warnings, *secrets_said(one_secret, losses)))


def require_accepted(
    site: Site, plan: PlannedSite, environment: Environment, forecast: StudyForecast | str | None
) -> None:
    """Refuse, before anything is randomized, what the miner said that it would refuse.

    Raises BudgetExceeded, StudyPlanNotFollowed, LinkageDiffers.
    """
    if isinstance(forecast, StudyForecast) and forecast.forecast.refused is not None:
        require_agreed_by(site, plan.adopted, environment)
        forecast.require_accepted()


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
