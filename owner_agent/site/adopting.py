"""The owner's part of a study's plan, and checks that the site file fits the plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from owner_agent.site.sections import StudyPlanSection
from pramana_core.alike import first_few
from pramana_core.domain import Variable
from pramana_core.errors import ConfigError, PramanaError
from pramana_core.plan import Block, Plan
from pramana_core.privacy import PRIOR
from pramana_core.report.numbers import belief, percent
from pramana_core.rounding import rounded_up
from pramana_core.study_plan import StudyPlan
from pramana_core.wire.privacy import AmplificationMessage
from pramana_core.wire.study_plans import StudyPlanMessage

FETCH = "`owner-agent join` fetches the study's plan."
_NAMED = 12


@dataclass(frozen=True)
class AdoptedPlan:
    """A study's plan and the owner following it. Raises ConfigError if the plan omits the owner."""

    plan: StudyPlan
    owner: str

    def __post_init__(self) -> None:
        owners = [name for name, _ in self.plan.owners]
        if self.owner not in owners:
            raise ConfigError(
                f"The study plan {short(self.plan.digest)} has no owner {self.owner!r}.",
                where="owner",
                remedy=f"Its owners are {owners}; the site file's owner must be one of them.",
            )
        if not self.plan.reports(self.owner):
            raise ConfigError(
                f"No subset in the study plan {short(self.plan.digest)} has a variable of"
                f" {self.owner!r}, so this owner would have nothing to report.",
                where="study_plan",
                remedy="Ask for a plan designed with this owner's variables.",
            )

    def part(self, variables: Mapping[str, Variable]) -> Block:
        """Return the block that this owner reports, with its own variables. Raises ConfigError."""
        part = self.plan.block(self.owner)
        mistakes = [
            f"{v.name!r} is missing"
            if v.name not in variables
            else f"{v.name!r} has other categories, or another order of categories"
            for v in part.variables
            if v.name not in variables or variables[v.name].categories != v.categories
        ]
        if mistakes:
            raise ConfigError(
                "The site file's variables differ from those of the study plan"
                f" {short(self.plan.digest)}: {'; '.join(mistakes)}.",
                where="variables",
                remedy="Use the variables' names as in the plan, and their categories in the "
                "plan's order.",
            )
        return Block(tuple(variables[v.name] for v in part.variables), part.channel)

    def require_followed(self, plan: Plan) -> None:
        """Check that the site's plan adds no loss to the study's plan. Raises ConfigError."""
        departures = list(self.plan.departures(self.owner, plan))
        if departures:
            raise ConfigError(
                f"The site file does not follow the study plan {short(self.plan.digest)}:"
                f" {'; '.join(departures)}.",
                where="study_plan",
                remedy="A column outside the study plan may be public (sensitive = false, no"
                " channel). Remove other columns from the site file, or ask for a plan that"
                " includes them.",
            )


def adopted(section: StudyPlanSection, folder: Path, owner: str) -> AdoptedPlan:
    """Read the study plan that a site file names. Raises ConfigError."""
    plan = read_study_plan(folder / section.file)
    if section.digest is not None and plan.digest != section.digest:
        raise ConfigError(
            f"The study plan in {section.file} is {short(plan.digest)}, but the site file approves"
            f" {short(section.digest)}.",
            where="study_plan.digest",
            remedy="Ask the study's operator. If you approve this plan, write its digest into the"
            " site file. Under another plan, records are randomized again, and the loss adds to"
            " the loss from earlier releases.",
        )
    return AdoptedPlan(plan, owner)


def read_study_plan(path: Path) -> StudyPlan:
    """Read a study's plan. Raises ConfigError."""
    try:
        return StudyPlanMessage.model_validate_json(path.read_bytes()).to_plan()
    except OSError as error:
        why = str(error.strerror)
    except ValidationError as error:
        first = error.errors()[0]
        why = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    except PramanaError as error:
        why = error.message.rstrip(".")
    raise ConfigError(
        f"{path} cannot be read as a study plan: {why}.",
        where="study_plan.file",
        remedy=FETCH,
    )


def short(digest: str) -> str:
    """Return a digest in a short form that people can compare."""
    return f"{digest[:12]}..."


def adopted_json(adopted: AdoptedPlan | None) -> dict[str, Any] | None:
    """Return what a study's plan means for an owner, as JSON values; infinity becomes null."""
    if adopted is None:
        return None
    plan, owner = adopted.plan, adopted.owner
    return {
        "digest": plan.digest,
        "owners": [name for name, _ in plan.owners],
        "sets": len(plan.sets),
        "record": AmplificationMessage.of(plan.amplification).model_dump(mode="json"),
        "own": AmplificationMessage.of(plan.loss_at(owner)).model_dump(mode="json"),
        "reported": plan.reported(owner),
    }


def study_sentences(adopted: AdoptedPlan) -> Iterator[str]:
    """Yield sentences on what a study's plan means for an owner."""
    plan, owner = adopted.plan, adopted.owner
    names = [name for name, _ in plan.owners]
    whole, own = plan.amplification, plan.loss_at(owner)
    yield (
        f"The study plan {plan.digest} bounds the privacy loss of a record by the reports of"
        f" {len(names)} owners together ({', '.join(names)}): epsilon {rounded_up(whole.epsilon)}"
        f" (gamma {whole.written_gamma}); {percent(PRIOR)} grows to {belief(whole, PRIOR)} at most."
        f" The reports of {owner} alone contribute at most epsilon {rounded_up(own.epsilon)}."
    )
    shares = plan.reported(owner)
    listed = first_few((f"{name} for {share:.1%}" for name, share in shares.items()), _NAMED)
    yield (
        f"{owner} reports {listed} of the records. A coin from the linkage secret chooses, equally"
        " for all owners and independently of the data."
    )
