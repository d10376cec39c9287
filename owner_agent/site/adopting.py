"""From the file of a study's plan to this owner's part of it, or why the part does not fit."""

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
from pramana_core.study_plan import StudyPlan
from pramana_core.wire.privacy import AmplificationMessage
from pramana_core.wire.study_plans import StudyPlanMessage

FETCH = "`owner-agent join` fetches the study's plan."
_LISTED = 4


@dataclass(frozen=True)
class AdoptedPlan:
    """A study's plan and the owner who adopted it. Raises ConfigError: it reports nothing in it."""

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
                f"No set of the study plan {short(self.plan.digest)} has a variable of"
                f" {self.owner!r}, so there is nothing to report.",
                where="study_plan",
                remedy="Have the plan designed with this owner's variables.",
            )

    def part(self, variables: Mapping[str, Variable]) -> Block:
        """Return the owner's part, over its own variables. Raises ConfigError."""
        part = self.plan.block(self.owner)
        mistakes = [
            f"{v.name!r} {_difference(v, variables[v.name])}"
            if v.name in variables
            else f"{v.name!r} is missing"
            for v in part.variables
            if v.name not in variables or variables[v.name].categories != v.categories
        ]
        if mistakes:
            raise ConfigError(
                "The site file's variables are not those of the study plan"
                f" {short(self.plan.digest)}: {'; '.join(mistakes)}.",
                where="variables",
                remedy="Give them the plan's names, and its categories in the plan's order.",
            )
        return Block(tuple(variables[v.name] for v in part.variables), part.channel)

    def require_followed(self, plan: Plan) -> None:
        """Check that nothing else would leave that adds to the plan. Raises ConfigError."""
        departures = list(self.plan.departures(self.owner, plan))
        if departures:
            raise ConfigError(
                f"The site file does not follow the study plan {short(self.plan.digest)}:"
                f" {'; '.join(departures)}.",
                where="study_plan",
                remedy="A column outside the study plan may be public (sensitive = false, no"
                " channel); take others out of the site file, or have the plan designed with them.",
            )


def adopted(section: StudyPlanSection, folder: Path, owner: str) -> AdoptedPlan:
    """Read the plan that a site file names. Raises ConfigError."""
    plan = read_study_plan(folder / section.file)
    if section.digest is not None and plan.digest != section.digest:
        raise ConfigError(
            f"The study plan in {section.file} is {short(plan.digest)}, and {short(section.digest)}"
            " is approved in the site file.",
            where="study_plan.digest",
            remedy="Ask whoever runs the study. If you approve this plan, write its digest into the"
            " site file. Another plan draws anew, and its loss adds to what left.",
        )
    return AdoptedPlan(plan, owner)


def read_study_plan(path: Path) -> StudyPlan:
    """Read a study's plan. Raises ConfigError."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"The study plan {path} cannot be read: {error.strerror}.",
            where="study_plan.file",
            remedy=FETCH,
        ) from None
    try:
        return StudyPlanMessage.model_validate_json(text).to_plan()
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        said = f", at {place}: {first['msg']}" if place else f": {first['msg']}"
        raise _no_plan(path, said) from None
    except PramanaError as error:
        raise _no_plan(path, f". {error.message.rstrip('.')}") from None


def short(digest: str) -> str:
    """Write a digest as people compare it."""
    return f"{digest[:12]}..."


def _no_plan(path: Path, said: str) -> ConfigError:
    return ConfigError(
        f"{path} is not a study plan{said}.",
        where="study_plan.file",
        remedy=FETCH,
    )


def _difference(planned: Variable, own: Variable) -> str:
    """Say how an owner's categories of a variable differ from the plan's."""
    missing = [c for c in planned.categories if c not in own.categories]
    further = [c for c in own.categories if c not in planned.categories]
    said = [
        f"{word} {first_few(map(repr, names), _LISTED)}"
        for word, names in (("lacks", missing), ("has besides", further))
        if names
    ]
    return " and ".join(said) or f"has its categories in another order than {planned.categories}"


_NAMED = 12


def adopted_json(adopted: AdoptedPlan | None) -> dict[str, Any] | None:
    """Return what a plan says of an owner as JSON; an infinite number is null."""
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
    """Yield the same in sentences."""
    plan, owner = adopted.plan, adopted.owner
    names = [name for name, _ in plan.owners]
    whole, own = plan.amplification, plan.loss_at(owner)
    yield (
        f"The study plan {plan.digest} bounds what {len(names)} owners ({', '.join(names)}) tell of"
        f" a record together: epsilon {whole.epsilon:.4g} (gamma {whole.written_gamma});"
        f" {PRIOR:.0%} grows to {whole.grown(PRIOR):.1%} at most. By {owner} alone at most epsilon"
        f" {own.epsilon:.4g} of it."
    )
    shares = plan.reported(owner)
    listed = first_few((f"{name} for {share:.1%}" for name, share in shares.items()), _NAMED)
    yield (
        f"{owner} reports {listed} of the records. A coin of the linkage secret chooses, at all"
        " owners alike and without looking at data."
    )
