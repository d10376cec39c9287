"""One design of several owners' public parts, which must fit together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError

from owner_agent.design.design_file import DesignFile, VariableDemand
from owner_agent.site.mistakes import all_mistakes
from owner_agent.site.planning import raise_together
from owner_agent.site.public_part import PublicPart, read_part
from pramana_core.alike import first_few
from pramana_core.errors import OptionError, PramanaError

_LISTED = 4


def design_of_parts(paths: Sequence[Path]) -> DesignFile:
    """Return the design file that owners' public parts amount to, nothing demanded.

    The owners are in the order of the files, and so they are in the plan.
    Raises ConfigError, OptionError.
    """
    problems: list[PramanaError] = []
    parts: list[tuple[Path, PublicPart]] = []
    for path in paths:
        try:
            parts.append((path, read_part(path)))
        except PramanaError as error:
            problems.append(error)
    problems += [*_owners_twice(parts), *_other_people(parts), *_variables_twice(parts)]
    raise_together(problems)
    try:
        return DesignFile(
            variables=tuple(
                VariableDemand(name=v.name, owner=part.owner, categories=v.categories)
                for _, part in parts
                for v in part.variables
            )
        )
    except ValidationError as error:
        raise all_mistakes(error, "design of the parts", "docs/vertical-study.md") from None


def _owners_twice(parts: Sequence[tuple[Path, PublicPart]]) -> Iterator[PramanaError]:
    seen: dict[str, Path] = {}
    for path, part in parts:
        if part.owner in seen:
            yield OptionError(
                f"{seen[part.owner]} and {path} are both parts of {part.owner!r}.",
                where="parts",
                remedy="Give one part of each owner, the newest; two owners of one name must agree"
                " on different ones.",
            )
        seen.setdefault(part.owner, path)


def _other_people(parts: Sequence[tuple[Path, PublicPart]]) -> Iterator[PramanaError]:
    for path, part in parts:
        if part.people == "different":
            yield OptionError(
                f"{part.owner} says in {path} that her records are of other people than the other"
                " owners'; a study plan is of owners who know different things of the same people.",
                where="parts",
                remedy="Leave her part out: owners of different people each design for their own"
                " site file (owner-agent design --site FILE).",
            )


def _variables_twice(parts: Sequence[tuple[Path, PublicPart]]) -> Iterator[PramanaError]:
    seen: dict[str, tuple[str, tuple[str, ...]]] = {}
    for _, part in parts:
        for v in part.variables:
            owner, categories = seen.setdefault(v.name, (part.owner, v.categories))
            if owner == part.owner:
                continue
            differing = _differing(owner, categories, part.owner, v.categories)
            yield OptionError(
                f"Both {owner} and {part.owner} have a variable {v.name!r}{differing}. In a study"
                " plan each variable has one owner.",
                where=v.name,
                remedy="If it is the same thing, one of them leaves it out (`owner-agent init"
                f" --leave-out {v.name}`, which writes a new part); if not, one of them gives it"
                " another name in her site file and writes her part again with `owner-agent"
                " public-part`.",
            )


def _differing(
    owner: str, categories: Sequence[str], other: str, others: Sequence[str]
) -> str:  # fmt: skip
    """Say which categories of a variable one of two owners has alone; "" if none."""
    differences = [
        f"{name} alone has {first_few(map(repr, alone), _LISTED)}"
        for name, alone in (
            (owner, [c for c in categories if c not in others]),
            (other, [c for c in others if c not in categories]),
        )
        if alone
    ]
    return (
        f", and their categories contradict each other ({'; '.join(differences)})"
        if differences
        else ""
    )
