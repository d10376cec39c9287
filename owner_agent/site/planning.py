"""The only module that builds a site file's plan, so it protects every sensitive variable."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from owner_agent.site.adopting import AdoptedPlan, adopted
from owner_agent.site.channels import AnyChannel
from owner_agent.site.protection import require_estimable, require_protected
from owner_agent.site.site import Site, VariableSection
from pramana_core.alike import first_few
from pramana_core.channels import Identity
from pramana_core.discretize import interval_labels
from pramana_core.domain import Variable
from pramana_core.errors import (
    ConfigError,
    InputError,
    PlanError,
    PramanaError,
    UnprotectedVariable,
)
from pramana_core.marginals.levels import require_groups
from pramana_core.plan import Block, Plan
from pramana_core.text_files import read_text
from pramana_core.wire.channels import PlanMessage


@dataclass(frozen=True)
class PlannedSite:
    """A site's variables and its plan, which protects every sensitive variable.

    Raises UnprotectedVariable if a sensitive variable would be sent unchanged or can be inferred.
    """

    variables: dict[str, Variable]
    plan: Plan
    sensitive: frozenset[str]
    columns: dict[str, str]
    """The table's column of each variable."""
    adopted: AdoptedPlan | None = None
    """The study's plan that the site follows, or None."""
    groups: Mapping[str, Any] = field(default_factory=dict)
    """The stated groups of categories of some variables."""

    def __post_init__(self) -> None:
        raise_together(_unprotected(self.plan.blocks, self.sensitive))


def planned(site: Site) -> PlannedSite:
    """Build and check a site's plan. Raises PramanaError."""
    problems: list[PramanaError] = []
    variables: dict[str, Variable] = {}
    groups: dict[str, Any] = {}
    if not site.file.variables:
        raise ConfigError(
            "The site file has no variables to randomize.",
            where="variables",
            remedy="Run `owner-agent mask` to release the columns of [mask], or `owner-agent"
            " share-model` to release the tree of [share_model].",
        )
    if waiting := awaiting_plan(site):
        raise UnprotectedVariable(
            f"The sensitive variables {first_few(map(repr, waiting))} have no channel, and the site"
            " file names no study plan.",
            where=waiting[0],
            remedy="If the study has a plan, `owner-agent join` fetches it; otherwise `owner-agent"
            " design` proposes channels. `owner-agent check` already checks the table.",
        )
    for section in site.file.variables:
        try:
            categories = categories_of(section, site.folder)
            variables[section.name] = Variable(section.name, categories, section.representatives)
            if section.groups is not None:
                groups[section.name] = _groups_of(section, categories, site.folder)
        except PramanaError as error:
            problems.append(error)
    agreed = site.file.study_plan
    if agreed is not None:
        raise_together(problems)
    study = None if agreed is None else adopted(agreed, site.folder, site.owner)
    part = None if study is None else study.part(variables)
    blocks: list[Block] = []
    sensitive = frozenset(v.name for v in site.file.variables if v.sensitive)
    for names, spec in _groupings(site, () if part is None else part.names):
        if not variables.keys() >= set(names):
            continue  # a variable's own problems are already listed
        try:
            block = _block(names, spec, site, variables, part)
        except PramanaError as error:
            problems.append(error)
        else:
            blocks.append(block)
            # Report unprotected variables together with invalid blocks.
            problems += _unprotected([block], sensitive)
    raise_together(problems)
    plan = _sendable(Plan(tuple(blocks)))
    if study is not None:
        study.require_followed(plan)
    columns = {v.name: v.source for v in site.file.variables}
    return PlannedSite(variables, plan, sensitive, columns, study, groups)


def awaiting_plan(site: Site) -> tuple[str, ...]:
    """Return the sensitive variables if they still have no channel and there is no study plan."""
    file = site.file
    planned = file.study_plan is not None or file.blocks
    if planned or any(v.sensitive and v.channel is not None for v in file.variables):
        return ()
    return tuple(v.name for v in file.variables if v.sensitive)


def without_protection(site: Site) -> Site:
    """Return a copy of a site that is only for reading its table, never for releasing data."""
    bare = {"channel": None, "sensitive": False}
    sections = tuple(v.model_copy(update=bare) for v in site.file.variables)
    left = {"variables": sections, "blocks": (), "study_plan": None}
    return site.model_copy(update={"file": site.file.model_copy(update=left)})


def _unprotected(blocks: Iterable[Block], sensitive: frozenset[str]) -> list[PramanaError]:
    found: list[PramanaError] = []
    for block in blocks:
        try:
            require_protected(block, sensitive)
        except UnprotectedVariable as error:
            found.append(error)
    return found


def raise_together(problems: list[PramanaError]) -> None:
    """Raise the only problem, or an error of the first problem's class that lists all problems.

    The cause of that error is the group of the problems.
    """
    if len(problems) == 1:
        raise problems[0]
    if problems:
        listed = "".join(f"\n  - {problem}" for problem in problems)
        raise type(problems[0])(
            f"There are {len(problems)} problems:{listed}", where=problems[0].where
        ) from ExceptionGroup("problems", problems)


def categories_of(section: VariableSection, folder: Path) -> tuple[str, ...]:
    """Return a variable's categories, from the site file or a list file. Raises ConfigError."""
    if section.cuts is not None:
        labels = interval_labels(section.cuts)
        return (*labels, section.missing) if section.missing is not None else labels
    categories = section.categories or _public_list(section, folder)
    clean = [unicodedata.normalize("NFC", category.strip()) for category in categories]
    if len(set(clean)) < len(set(categories)) or any(
        c != c.strip() or not c.strip() for c in categories
    ):
        raise ConfigError(
            f"Variable {section.name!r} has categories that are empty, have surrounding spaces or"
            " differ only in their Unicode encoding.",
            where=section.name,
            remedy="Remove the spaces around categories. Cells are compared without surrounding "
            "spaces.",
        )
    if section.missing is not None and section.missing not in categories:
        raise ConfigError(
            f"Variable {section.name!r} counts empty cells as {section.missing!r}, which is not "
            "one of its categories.",
            where=section.name,
            remedy="Add this category to the list.",
        )
    return tuple(categories)


def _groups_of(section: VariableSection, categories: Sequence[str], folder: Path) -> Any:
    """Return the groups that a variable's section states. Raises ConfigError."""
    found = section.groups
    if isinstance(found, str):
        try:
            text = io.StringIO(read_text(folder / found), newline="")
            rows = [row for row in csv.reader(text, strict=True) if row]
        except (OSError, UnicodeDecodeError, csv.Error):
            rows = []
        if rows[:1] != [["category", "group"]] or any(len(row) != 2 for row in rows):
            raise ConfigError(
                f"The groups of {section.name!r} cannot be read from {folder / found}.",
                where=section.name,
                remedy="Write a CSV file as UTF-8, with the header category,group and a line for"
                " each category.",
            )
        listed: dict[str, list[str]] = {}
        for category, group in rows[1:]:
            listed.setdefault(group.strip(), []).append(category.strip())
        found = listed
    try:
        require_groups(found or {}, categories)
    except InputError as error:
        raise ConfigError(
            f"The groups of {section.name!r} are invalid. {error.message}",
            where=section.name,
            remedy=error.remedy,
        ) from None
    return found


def _public_list(section: VariableSection, folder: Path) -> tuple[str, ...]:
    path = folder / str(section.categories_from)
    try:
        lines = read_text(path).split("\n")
    except (OSError, UnicodeDecodeError):
        raise ConfigError(
            f"The list of categories of {section.name!r}, {path}, cannot be read as UTF-8 text.",
            where=section.name,
            remedy="Write one category per line, as UTF-8.",
        ) from None
    return tuple(line.strip() for line in lines if line.strip())


def _groupings(
    site: Site, agreed: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], AnyChannel | None]]:
    """Yield each block's names and channel, in the file's order of the blocks' first variables."""
    place = {section.name: index for index, section in enumerate(site.file.variables)}
    if agreed:
        first = min(agreed, key=place.__getitem__)
    joint = {min(b.variables, key=place.__getitem__): b for b in site.file.blocks}
    inside = {name for block in site.file.blocks for name in block.variables}
    for section in site.file.variables:
        if section.name in agreed:
            if section.channel is not None:
                raise ConfigError(
                    f"Both the site file and the study plan have a channel for {section.name!r}.",
                    where=section.name,
                    remedy="Remove the channel from the site file; `owner-agent plan` shows the"
                    " plan's channel.",
                )
            if section.name == first:
                yield agreed, None
        elif section.name in joint:
            yield joint[section.name].variables, joint[section.name].channel
        elif section.name not in inside:
            yield (section.name,), section.channel


def _block(
    names: tuple[str, ...],
    spec: AnyChannel | None,
    site: Site,
    variables: dict[str, Variable],
    part: Block | None,
) -> Block:
    if part is not None and names == part.names:
        require_estimable(part)
        return part
    members = tuple(variables[name] for name in names)
    sensitive = frozenset(v.name for v in site.file.variables if v.sensitive)
    if spec is None:
        if names[0] in sensitive:
            raise UnprotectedVariable(
                f"Variable {names[0]!r} is sensitive and has no channel.",
                where=names[0],
                remedy="Add a channel; `owner-agent design` proposes one. If the study's plan"
                " randomizes the variable, name that plan in [study_plan].",
            )
        return Block(members, Identity(members[0].size))
    try:
        block = Block(members, spec.transition(members))
    except PramanaError as error:
        kind = "Block" if len(names) > 1 else "Variable"
        raise type(error)(
            f"{kind} {'*'.join(names)!r}: {error.message}",
            where="*".join(names),
            remedy=error.remedy,
        ) from None
    require_estimable(block)
    return block


def _sendable(plan: Plan) -> Plan:
    try:
        PlanMessage.from_plan(plan)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise PlanError(
            f"The plan exceeds the limits of a release at {place}: {first['msg']}.",
            where=place,
            remedy="Use shorter names, or fewer categories or variables.",
        ) from None
    return plan
