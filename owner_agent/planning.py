"""From a site file to the plan: what is done to which variable, and nothing left unprotected.

This is the one door to a `Plan` on the owner's side, so a sensitive variable without a channel
cannot reach the check, the report or the outbox.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from pydantic import ValidationError

from owner_agent.channels import AnyChannel
from owner_agent.site import Site, VariableSection
from shared.domain import Variable
from shared.errors import (
    ConfigError,
    PlanError,
    PramanaError,
    SingularChannel,
    UnprotectedVariable,
)
from shared.plan import Block, Plan
from shared.transition import (
    CONDITION_LIMIT,
    RESOLUTION,
    Grouped,
    Identity,
    Symmetric,
    Transition,
)
from shared.wire import PlanMessage


@dataclass(frozen=True)
class Planned:
    """A site's variables and its plan."""

    variables: dict[str, Variable]
    plan: Plan
    sensitive: frozenset[str]
    columns: dict[str, str]
    """The table's column of every variable."""


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
            variables[section.name] = Variable(section.name, _categories(site, section))
        except PramanaError as error:
            problems.append(error)
    raise_together(problems)
    blocks: list[Block] = []
    for names, spec in _groupings(site):
        try:
            blocks.append(_block(names, spec, site, variables))
        except PramanaError as error:
            problems.append(error)
    raise_together(problems)
    return Planned(
        variables,
        _sendable(Plan(tuple(blocks))),
        frozenset(v.name for v in site.file.variables if v.sensitive),
        {v.name: v.source for v in site.file.variables},
    )


def raise_together(problems: list[PramanaError]) -> None:
    """Raise the problem there is, or one error of the first's class that lists them all."""
    if len(problems) == 1:
        raise problems[0]
    if problems:
        listed = "".join(f"\n  - {problem}" for problem in problems)
        raise type(problems[0])(
            f"There are {len(problems)} problems:{listed}", where=problems[0].where
        )


def require_protected(block: Block, sensitive: frozenset[str]) -> None:
    """Check that a block randomizes each of its sensitive variables.

    A channel that always reports the same thing for a category, whatever the thing is called, is
    no protection; neither is one whose reports, though random, each fit one category only. In a
    joint block every sensitive variable is looked at alone.

    Raises:
        UnprotectedVariable: a sensitive variable would leave as it is, or could be read off.
    """
    for name in block.names:
        if name not in sensitive:
            continue
        alone = block.restrict([name])
        if deterministic(block.channel) or (alone is not None and deterministic(alone)):
            raise UnprotectedVariable(
                f"Variable {name!r} is sensitive but would leave unrandomized: its channel"
                " reports every category with certainty.",
                where=name,
                remedy="Give it a channel that randomizes, or say sensitive = false.",
            )
        if legible(block, name):
            raise UnprotectedVariable(
                f"Variable {name!r} is sensitive but could be read off its reports: each of them is"
                " possible under one category only.",
                where=name,
                remedy="Give it a channel that reports the same under several categories, or say"
                " sensitive = false.",
            )


def deterministic(channel: Transition) -> bool:
    """Whether a channel's report is a fixed function of the truth."""
    if isinstance(channel, Identity):
        return True
    if isinstance(channel, Symmetric):
        return channel.off_units in {0, RESOLUTION}
    if isinstance(channel, Grouped):
        return all(part is None or deterministic(part) for part in channel.channels)
    return bool(np.all(channel.units().max(axis=1) == RESOLUTION))


def legible(block: Block, name: str) -> bool:
    """Whether the truth of a variable is a function of its block's report."""
    if isinstance(block.channel, Identity | Symmetric):
        # A symmetric channel that is not deterministic reports a cell under all truths, or under
        # all but one of three or more.
        return deterministic(block.channel)
    possible = (block.channel.units() > 0).reshape(*(v.size for v in block.variables), -1)
    others = tuple(axis for axis, v in enumerate(block.variables) if v.name != name)
    truths: npt.NDArray[np.intp] = possible.any(axis=others).sum(axis=0)
    return bool((truths <= 1).all())


def interval_labels(cuts: tuple[float, ...]) -> tuple[str, ...]:
    """Return the labels of the intervals between cut points, each closed on the left.

    >>> interval_labels((30, 45))
    ('<30', '30-45', '>=45')
    """
    texts = [_number(cut) for cut in cuts]
    between = [f"{low}-{high}" for low, high in itertools.pairwise(texts)]
    return (f"<{texts[0]}", *between, f">={texts[-1]}")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def _categories(site: Site, section: VariableSection) -> tuple[str, ...]:
    if section.cuts is not None:
        labels = interval_labels(section.cuts)
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
    require_protected(block, sensitive)
    _require_estimable(block)
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


def _require_estimable(block: Block) -> None:
    """Refuse a channel whose reports leave some truths indistinguishable."""
    true, reported = block.channel.shape
    condition = block.channel.condition_number
    if reported < true or not condition <= CONDITION_LIMIT:
        raise SingularChannel(
            f"The channel of {block.name!r} is singular ({true} x {reported}, condition number"
            f" {condition:.3g}): nobody could estimate anything from its reports.",
            where=block.name,
            remedy="Change its rows so that none is a mixture of the others.",
        )
