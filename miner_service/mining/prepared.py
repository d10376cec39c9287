"""A job that can run and what it makes, whatever kind of release it uses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from miner_service.alignment.align import AlignedSource
from miner_service.kinds import Content
from pramana_core.errors import Conflict
from pramana_core.wire.learning.models import LackOfFitMessage
from pramana_core.wire.releases import Alignment

Held = tuple[AlignedSource, Any]
"""A sealed release as a source of records, and what it holds: a plan, or a masked table."""


@dataclass(frozen=True)
class PreparedJob:
    """A job that can run: the releases it uses, and how their records align."""

    sources: tuple[AlignedSource, ...]
    alignment: Alignment


@dataclass(frozen=True)
class Learned:
    """What a job makes: what its model's message says, of how many records, and how they fit.

    `filled_in` has the sets of variables of tables that were made of smaller ones.
    """

    records: int
    content: Content
    lack_of_fit: tuple[LackOfFitMessage, ...] = ()
    filled_in: tuple[tuple[str, ...], ...] = ()


def copied(prepared: PreparedJob) -> list[str]:
    """Return a sentence for each two of the releases that a job uses which are the same."""
    used = {source.release for source in prepared.sources}
    return [one.told for one in prepared.alignment.same if used.issuperset(one.releases)]


def require_one_owner(variables: Iterable[tuple[str, str]], alignment: Alignment) -> None:
    """Check that each variable comes from one owner, given each variable with an owner of it.

    Raises:
        Conflict: two owners have a variable.
    """
    owners: dict[str, list[str]] = {}
    for name, owner in variables:
        owners.setdefault(name, []).append(owner)
    twice = {name: found for name, found in sorted(owners.items()) if len(found) > 1}
    if twice:
        raise Conflict(
            "More than one owner reports "
            + "; ".join(f"{name} ({', '.join(found)})" for name, found in twice.items())
            + "."
            + said_of_copies(alignment),
            where=", ".join(twice),
            remedy="Each variable of a job must come from one owner; rename one of them, or ask"
            ' for `"records": "any"` if the owners know different people.',
        )


def said_of_copies(alignment: Alignment) -> str:
    """Return what else is said where owners have a variable of one record: of releases alike."""
    return "".join(f" {one.told}" for one in alignment.same)
