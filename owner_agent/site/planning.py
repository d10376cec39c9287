"""From a site file to the plan: what is done to which variable, and nothing left unprotected.

This is the one door to a `Plan` on the owner's side, so a sensitive variable without a channel
cannot reach the check, the report or the outbox.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pydantic import ValidationError

from owner_agent.site.channels import AnyChannel
from owner_agent.site.protection import require_estimable, require_protected
from owner_agent.site.site import Site, VariableSection
from shared.channels import Identity
from shared.discretize import interval_labels
from shared.domain import Variable
from shared.errors import ConfigError, PlanError, PramanaError, UnprotectedVariable
from shared.plan import Block, Plan
from shared.wire.plans import PlanMessage


@dataclass(frozen=True)
class Planned:
    """A site's variables and its plan, which protects every sensitive one.

    Raises:
        UnprotectedVariable: a sensitive variable would leave as it is, or could be read off.
    """

    variables: dict[str, Variable]
    plan: Plan
    sensitive: frozenset[str]
    columns: dict[str, str]
    """The table's column of every variable."""

    def __post_init__(self) -> None:
        raise_together(_unprotected(self.plan.blocks, self.sensitive))


def planned(site: Site) -> Planned:
    """Build and check a site's plan.

    Raises:
        PramanaError: the one thing that is wrong, or a ConfigError that lists all of them:
            categories or a channel that cannot be, a singular channel, or a sensitive variable
            that would leave unprotected (UnprotectedVariable).
    """
    problems: list[PramanaError] = []
    variables: dict[str, Variable] = {}
    for section in site.file.variables:
        try:
            categories = _categories(site, section)
            variables[section.name] = Variable(section.name, categories, section.representatives)
        except PramanaError as error:
            problems.append(error)
    raise_together(problems)
    blocks: list[Block] = []
    sensitive = frozenset(v.name for v in site.file.variables if v.sensitive)
    for names, spec in _groupings(site):
        try:
            block = _block(names, spec, site, variables)
        except PramanaError as error:
            problems.append(error)
        else:
            blocks.append(block)
            # What is unprotected is told beside what cannot be built.
            problems += _unprotected([block], sensitive)
    raise_together(problems)
    return Planned(
        variables,
        _sendable(Plan(tuple(blocks))),
        sensitive,
        {v.name: v.source for v in site.file.variables},
    )


def _unprotected(blocks: Iterable[Block], sensitive: frozenset[str]) -> list[PramanaError]:
    found: list[PramanaError] = []
    for block in blocks:
        try:
            require_protected(block, sensitive)
        except UnprotectedVariable as error:
            found.append(error)
    return found


def raise_together(problems: list[PramanaError]) -> None:
    """Raise the problem there is, or one error of the first's class that lists them all."""
    if len(problems) == 1:
        raise problems[0]
    if problems:
        listed = "".join(f"\n  - {problem}" for problem in problems)
        raise type(problems[0])(
            f"There are {len(problems)} problems:{listed}", where=problems[0].where
        )


def _categories(site: Site, section: VariableSection) -> tuple[str, ...]:
    if section.cuts is not None or section.centres is not None:
        labels = interval_labels(section.cuts) if section.cuts else section.groups().labels
        return (*labels, section.missing) if section.missing is not None else labels
    categories = section.categories or _public_list(site, section)
    clean = [unicodedata.normalize("NFC", category.strip()) for category in categories]
    if len(set(clean)) < len(set(categories)) or any(
        c != c.strip() or not c.strip() for c in categories
    ):
        raise ConfigError(
            f"Variable {section.name!r} has categories that are empty, have spaces around them or"
            " differ in encoding only.",
            where=section.name,
            remedy="Cells are compared without the spaces around them; write categories so too.",
        )
    if section.missing is not None and section.missing not in categories:
        raise ConfigError(
            f"Variable {section.name!r} counts empty cells as {section.missing!r}, which is not"
            " one of its categories.",
            where=section.name,
            remedy="Add it to the categories.",
        )
    return tuple(categories)


def _public_list(site: Site, section: VariableSection) -> tuple[str, ...]:
    path = site.folder / str(section.categories_from)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"The list of categories of {section.name!r}, {path}, cannot be read as UTF-8 text.",
            where=section.name,
            remedy="Put one category on each line.",
        ) from error
    return tuple(line.strip() for line in lines if line.strip())


def _groupings(site: Site) -> Iterator[tuple[tuple[str, ...], AnyChannel | None]]:
    """Yield each block's names and channel, where its first variable stands in the file."""
    place = {section.name: index for index, section in enumerate(site.file.variables)}
    joint = {min(b.variables, key=place.__getitem__): b for b in site.file.blocks}
    inside = {name for block in site.file.blocks for name in block.variables}
    for section in site.file.variables:
        if section.name in joint:
            yield joint[section.name].variables, joint[section.name].channel
        elif section.name not in inside:
            yield (section.name,), section.channel


def _block(
    names: tuple[str, ...],
    spec: AnyChannel | None,
    site: Site,
    variables: dict[str, Variable],
) -> Block:
    members = tuple(variables[name] for name in names)
    sensitive = frozenset(v.name for v in site.file.variables if v.sensitive)
    if spec is None:
        if names[0] in sensitive:
            raise UnprotectedVariable(
                f"Variable {names[0]!r} is sensitive and has no channel.",
                where=names[0],
                remedy="Give it a channel, or say sensitive = false.",
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
        ) from error
    require_estimable(block)
    return block


def _sendable(plan: Plan) -> Plan:
    """Return a plan that the wire contract can carry. Raises PlanError where it cannot."""
    try:
        PlanMessage.from_plan(plan)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise PlanError(
            f"The plan is larger than a release may announce, at {place}: {first['msg']}.",
            where=place,
            remedy="Use shorter names, or fewer categories or variables.",
        ) from None
    return plan
