"""Combining the variables in the public parts of several owners."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from owner_agent.site.planning import raise_together
from owner_agent.site.public_part import PublicPart, read_part
from pramana_core.domain import Domain
from pramana_core.errors import OptionError, PramanaError

Owners = dict[str, tuple[str, ...]]


def variables_of_parts(paths: Sequence[Path]) -> tuple[Domain, Owners]:
    """Return the variables of all public parts in order, and their owners. Raises ConfigError."""
    problems: list[PramanaError] = []
    parts: list[tuple[Path, PublicPart]] = []
    for path in paths:
        try:
            parts.append((path, read_part(path)))
        except PramanaError as error:
            problems.append(error)
    raise_together([*problems, *_owners_twice(parts), *_variables_twice(parts)])
    variables = [v for _, part in parts for v in part.domain_variables()]
    return Domain(tuple(variables)), {p.owner: tuple(v.name for v in p.variables) for _, p in parts}


def _owners_twice(parts: Sequence[tuple[Path, PublicPart]]) -> Iterator[PramanaError]:
    seen: dict[str, Path] = {}
    for path, part in parts:
        if part.owner in seen:
            yield OptionError(
                f"{seen[part.owner]} and {path} are both parts of {part.owner!r}.",
                where="parts",
                remedy="Name only the newest part of each owner. Two owners with the same name must"
                " choose different names.",
            )
        seen.setdefault(part.owner, path)


def _variables_twice(parts: Sequence[tuple[Path, PublicPart]]) -> Iterator[PramanaError]:
    holders: dict[str, str] = {}
    for owner, name in ((part.owner, v.name) for _, part in parts for v in part.variables):
        if (other := holders.setdefault(name, owner)) != owner:
            yield OptionError(
                f"Both {other} and {owner} have a variable {name!r}; in a study plan each variable"
                " has one owner.",
                where=name,
                remedy="If the variables are the same, one owner omits it (`owner-agent init"
                f" --leave-out {name}`). Otherwise one owner renames it in the site file and writes"
                " a new part with `owner-agent public-part`.",
            )
