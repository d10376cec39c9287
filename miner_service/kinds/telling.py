"""What a job can tell of the records at hand, in sentences, by the plans alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from miner_service.kinds.base import PreparedJob
from miner_service.kinds.counts import CountsJob
from pramana_core.design.telling import ERRORS, Told, telling
from pramana_core.pictures.svg import short
from pramana_core.plan import Plan
from pramana_core.wire.learning.jobs import CountsSpec

_APART = "\u2068{}\u2069"
"""A name whose own direction turns nothing around it (Unicode's isolates)."""


def told_of_plans(
    kind: str, plans: Sequence[Plan], records: int, target: str | None = None
) -> list[str]:
    """Return what a kind of job can tell of records reported under some plans.

    Args:
        kind: of the job.
        plans: of the releases in use; a variable that several have is taken from the first.
        records: how many are reported by all.
        target: the class, where one is chosen.

    Returns:
        Sentences, the first of which says what the others rest on; none where nothing is reported.
    """
    seen: set[str] = set()
    blocks = []
    for block in (block for plan in plans for block in plan.blocks):
        if seen.isdisjoint(block.names):
            blocks.append(block)
            seen.update(block.names)
    if not blocks or records < 1:
        return []
    plan = Plan(tuple(blocks))
    return list(_sentences(_Asked(kind, plan.digest, records, target, plan)))


def told_of_each(kind: str, released: Mapping[str, tuple[Plan, int]], records: int) -> list[str]:
    """Return what a kind of job can tell where no record is at every owner, owner by owner.

    Args:
        kind: of the job.
        released: the plan of each owner's release in use, and how many records it has. Owners of
            the same plan are told of together.
        records: how many there are at any owner.

    Returns:
        Sentences, the first of which says that no records are joined; none where nothing is
        reported.
    """
    alike: dict[str, list[str]] = {}
    for owner, (plan, _) in released.items():
        alike.setdefault(plan.digest, []).append(owner)
    said = []
    for owners in alike.values():
        plan = released[owners[0]][0]
        there = min(sum(released[owner][1] for owner in owners), records)
        told = told_of_plans(kind, [plan], there)
        if told:
            of = ", ".join(_APART.format(short(owner, 40)) for owner in owners)
            said += [f"{of}: {told[0]}", *told[1:]]
    return ["No record is at every owner; what each owner's records tell alone:", *said] * bool(
        said
    )


def told_of(kind: str, spec: Any, prepared: PreparedJob) -> list[str]:
    """Return what a job that can run can tell, of the variables and records that it asks for."""
    if isinstance(prepared, CountsJob) and isinstance(spec, CountsSpec):
        extent = prepared.extent
        plan = extent.layout.plans[0]
        plan = Plan(tuple(b for b in plan.blocks if not set(extent.variables).isdisjoint(b.names)))
        return told_of_plans(kind, [plan], extent.records, getattr(spec, "target", None))
    return told_of_records(kind, max((source.records for source in prepared.sources), default=0))


def told_of_records(kind: str, records: int) -> list[str]:
    """Return what a kind of job can tell that learns from masked records, or from trees alone."""
    if kind == "model-sharing":
        tells = "No record is seen: it tells what the owners' trees tell, and how often that is"
        return [f"{tells} right cannot be known here."]
    if records < _FEWEST:
        return []
    least = ERRORS / math.sqrt(records - 3)
    of = f"What {records:,} records can tell, beside what masking adds (two standard errors):"
    return [f"{of} a correlation of {least:.2g} or more with the target, and nothing weaker."]


_FEWEST = 10
"""Of fewer records no correlation is told (Fisher's approximation needs some)."""


@dataclass(frozen=True)
class _Asked:
    """What is asked, by the plan's digest."""

    kind: str
    digest: str
    records: int
    target: str | None
    plan: Plan = field(compare=False, repr=False)


_PAIRS = {
    "contingency-table": "A combination of two variables",
    "association-rules": "An itemset of two",
    "bayes-net-structure": "A link",
    "bayes-net-parameters": "A node with one parent",
    "decision-tree": "A split",
    "bayes-classifier": "An attribute",
    "linear-classifier": "A feature",
}
"""What a job learns from a table of two variables, by its kind."""


@lru_cache(maxsize=256)
def _sentences(asked: _Asked) -> tuple[str, ...]:
    found = telling(asked.plan, asked.records, asked.target)
    assumed = "by moments, as if variables were independent and categories alike frequent"
    of = f"What {asked.records:,} records under these plans can tell"
    told = [f"{of} (two standard errors, {assumed}):"]
    if found.single:
        ranked = sorted(found.single, key=lambda one: one.share)
        best, worst = ranked[0], ranked[-1]
        sharpest = f", at best to ± {_points(best)} ({_named(best)})" if best != worst else ""
        told.append(
            f"A category's share is told to ± {_points(worst)} ({_named(worst)}){sharpest}."
        )
    if found.pairs:
        best, worst = found.pairs[0], found.pairs[-1]
        sharpest = f"; at best {_percent(best)} ({_named(best)})" if best != worst else ""
        told.append(
            f"{_PAIRS.get(asked.kind, 'A pair')} is told from noise where a combination is"
            f" {_percent(worst)} more or less frequent than if they were independent"
            f" ({_named(worst)}){sharpest}."
        )
        if best.departure >= 1:
            told.append("That is more than most data have: expect to see little in pairs.")
    elif len(found.single) > 1:
        # Sets that are drawn by lot are told by pooled counts, and moments foretell no pair there.
        told.append("How well pairs are told is not foretold here; `pramana simulate` measures it.")
    if found.untold:
        told.append(f"Of {found.untold:,} more variables nothing is foretold.")
    return tuple(told)


def _points(told: Told) -> str:
    return f"{100 * told.share:.2g} percentage points"


def _percent(told: Told) -> str:
    return f"{100 * told.departure:.2g} %" if told.departure < 1 else f"{told.departure:.2g} times"


def _named(told: Told) -> str:
    return " and ".join(_APART.format(short(name, 40)) for name in told.names)
