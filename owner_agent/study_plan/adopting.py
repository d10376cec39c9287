"""From the file of a study's plan to this owner's part of it, or why the part does not fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from owner_agent.state.private_files import COMMON_MODE, write_durably
from owner_agent.study_plan.section import StudyPlanSection
from pramana_core.domain import Variable
from pramana_core.errors import ConfigError, OptionError, PramanaError
from pramana_core.plan import Block, Plan
from pramana_core.study_plan import StudyPlan
from pramana_core.wire.study_plans import StudyPlanMessage

FETCH = "Fetch the study's plan with `owner-agent study-plan fetch`."
_LISTED = 4


@dataclass(frozen=True)
class Adopted:
    """A study's plan and the owner who adopted it.

    Raises:
        ConfigError: the owner reports nothing in it.
    """

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
        """Return the owner's part, over its own variables.

        Args:
            variables: the site's, by name; the numbers that their categories stand for are its own.

        Raises:
            ConfigError: they lack one of the plan's or have other categories; all are named.
        """
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
        """Check that nothing would leave beside the owner's part that adds to it.

        Raises:
            ConfigError: something would.
        """
        departures = list(self.plan.departures(self.owner, plan))
        if departures:
            raise ConfigError(
                f"The site file does not follow the study plan {short(self.plan.digest)}:"
                f" {'; '.join(departures)}.",
                where="study_plan",
                remedy="A column outside the study plan may be public (sensitive = false, no"
                " channel); take others out of the site file, or have the plan designed with them.",
            )


def adopted(section: StudyPlanSection, folder: Path, owner: str) -> Adopted:
    """Read the plan that a site file names.

    Args:
        section: what the site file says.
        folder: where its relative paths start from.
        owner: the site's owner.

    Raises:
        ConfigError: there is no such plan, it is not the approved one, or not this owner's.
    """
    plan = read_study_plan(folder / section.file)
    if section.digest is not None and plan.digest != section.digest:
        raise ConfigError(
            f"The study plan in {section.file} is {short(plan.digest)}, and {short(section.digest)}"
            " is approved in the site file.",
            where="study_plan.digest",
            remedy="Read it with `owner-agent study-plan show`; if you approve it, write its digest"
            " into the site file. Another plan draws anew, and its loss adds to what left.",
        )
    return Adopted(plan, owner)


def read_study_plan(path: Path) -> StudyPlan:
    """Read a study's plan, as `owner-agent design --write-study-plan` and the miner write it.

    Raises:
        ConfigError: it cannot be read, or is no study plan.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"The study plan {path} cannot be read: {error.strerror}.",
            where="study_plan.file",
            remedy=FETCH,
        ) from error
    try:
        return StudyPlanMessage.model_validate_json(text).to_plan()
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        said = f", at {place}: {first['msg']}" if place else f": {first['msg']}"
        raise _no_plan(path, said) from None
    except PramanaError as error:
        raise _no_plan(path, f". {error.message.rstrip('.')}") from None


def write_study_plan(plan: StudyPlan, path: Path) -> None:
    """Write a study's plan into a file that is new, or has the very same plan; whole or not at all.

    Raises:
        OptionError: it holds something else, or cannot be written.
        StorageFull: there is no room for it.
    """
    content = plan.canonical_json() + b"\n"
    try:
        write_durably(path, content, COMMON_MODE)
    except FileExistsError:
        if path.is_file() and path.read_bytes() == content:
            return
        raise OptionError(
            f"{path} exists and is another file; it was not changed.",
            where="file",
            remedy="Name a new file.",
        ) from None
    except OSError as error:
        raise OptionError(f"{path} cannot be written: {error.strerror}.", where="file") from error


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
        f"{word} {', '.join(map(repr, names[:_LISTED]))}"
        + (f" and {len(names) - _LISTED} more" if len(names) > _LISTED else "")
        for word, names in (("lacks", missing), ("has besides", further))
        if names
    ]
    return " and ".join(said) or f"has its categories in another order than {planned.categories}"
