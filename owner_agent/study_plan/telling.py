"""What a study's plan says of an owner: what is told of a record, how often, and with whom."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from owner_agent.study_plan.adopting import Adopted
from pramana_core.channels import RESOLUTION
from pramana_core.privacy import PRIOR
from pramana_core.study_plan import StudySet
from pramana_core.wire.privacy import AmplificationMessage

_HARDLY = 5e-4
"""Smaller shares of the records are rounding."""

_LISTED = 12


def adopted_json(adopted: Adopted | None) -> dict[str, Any] | None:
    """Return what a plan says of an owner as JSON; an infinite number is null."""
    if adopted is None:
        return None
    plan, owner = adopted.plan, adopted.owner
    return {
        "digest": plan.digest,
        "owners": [name for name, _ in plan.owners],
        "sets": len(plan.sets),
        "record": AmplificationMessage.of(plan.amplification).model_dump(mode="json"),
        "own": AmplificationMessage.of(plan.told_by(owner)).model_dump(mode="json"),
        "reported": plan.reported(owner),
        "silent": silent(adopted),
        "together_with": together_with(adopted),
    }


def told_lines(adopted: Adopted) -> Iterator[str]:
    """Yield the same in sentences."""
    plan, owner = adopted.plan, adopted.owner
    names = [name for name, _ in plan.owners]
    whole, own = plan.amplification, plan.told_by(owner)
    yield (
        f"The study plan {plan.digest} bounds what {len(names)} owners ({', '.join(names)}) tell of"
        f" a record together: epsilon {whole.epsilon:.4g} (gamma {whole.written_gamma});"
        f" {PRIOR:.0%} grows to {whole.grown(PRIOR):.1%} at most. By {owner} alone at most epsilon"
        f" {own.epsilon:.4g} of it."
    )
    shares = plan.reported(owner)
    listed = [f"{name} for {share:.1%}" for name, share in list(shares.items())[:_LISTED]]
    more = f" and {len(shares) - _LISTED} more" if len(shares) > _LISTED else ""
    none = "" if (left := silent(adopted)) < _HARDLY else f"; nothing for {left:.1%}"
    yield f"{owner} reports {', '.join(listed)} of the records{more}{none}."
    with_others = [f"{n} for {share:.1%}" for n, share in together_with(adopted).items()]
    if with_others:
        yield (
            f"The same record is reported by {', by '.join(with_others)} of the records. A coin of"
            " the linkage secret chooses, at all owners alike and without looking at data."
        )


def silent(adopted: Adopted) -> float:
    """Return the share of records of which the owner reports nothing."""
    return 1 - sum(one.weight for one, _ in _own_sets(adopted)) / RESOLUTION


def together_with(adopted: Adopted) -> dict[str, float]:
    """Return the share of records that are reported by the owner and by each other one."""
    owners = [name for name, _ in adopted.plan.owners]
    units: dict[str, int] = dict.fromkeys((n for n in owners if n != adopted.owner), 0)
    for one, place in _own_sets(adopted):
        for part in one.parts:
            if part.owner != place:
                units[owners[part.owner]] += one.weight
    return {name: weight / RESOLUTION for name, weight in units.items() if weight}


def _own_sets(adopted: Adopted) -> Iterator[tuple[StudySet, int]]:
    place = [name for name, _ in adopted.plan.owners].index(adopted.owner)
    for one in adopted.plan.sets:
        if any(part.owner == place for part in one.parts):
            yield one, place
