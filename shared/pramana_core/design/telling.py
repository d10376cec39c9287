"""What reports under a plan can tell of so many records, before any is looked at.

By the errors of moment estimates as `predict` has them: against the population, as if variables
were independent and their categories alike frequent. Two standard errors are what is called told.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pramana_core.design.goal import Goal, reference
from pramana_core.design.predict import MODERATE, by_moments, told_by_moments
from pramana_core.domain import Domain
from pramana_core.plan import Block, Plan

ERRORS = 2.0
"""So many standard errors are told from nothing."""

MOST_CELLS = 1 << 10
"""Of a variable with more categories or reports nothing is predicted: none of its cells is told."""

MOST_VARIABLES = 256
"""So many of a plan's variables are looked at, the first ones."""


@dataclass(frozen=True)
class Told:
    """How well a table over some variables is told, in its mean cell.

    Attributes:
        names: the variables.
        share: two standard errors of a cell's share of all records.
        departure: by what part of itself a cell must differ from what independence says, so that it
            does by two standard errors.
    """

    names: tuple[str, ...]
    share: float
    departure: float


@dataclass(frozen=True)
class Telling:
    """What reports of so many records can tell: of the sharpest and the least sharp tables.

    Attributes:
        records: how many.
        single: tables over one variable, the sharpest first; of none, where nothing is told.
        pairs: tables over two, likewise.
        untold: how many variables nothing is told of by moments, or is not predicted.
    """

    records: int
    single: tuple[Told, ...]
    pairs: tuple[Told, ...]
    untold: int


def telling(plan: Plan, records: int, target: str | None = None) -> Telling:
    """Return what reports under a plan can tell of so many records.

    Args:
        plan: of all that is reported together.
        records: how many, at least 1.
        target: the variable that pairs have in common, if one does.

    The sharpest and the least sharp pair are those of the variables that are so by themselves,
    which is exact where no block has both.
    """
    blocks = [block for block in plan.blocks if _small(block)]
    looked = [name for block in blocks for name in block.names][:MOST_VARIABLES]
    single = _told(plan, [(name,) for name in looked], records)
    ranked = [one.names[0] for one in single]
    pairs: list[tuple[str, ...]] = []
    if target in ranked:
        others = [name for name in ranked if name != target]
        pairs = [(target, name) for name in dict.fromkeys((*others[:1], *others[-1:]))]
    elif target is None and len(ranked) > 1:
        pairs = list(dict.fromkeys([tuple(ranked[:2]), tuple(ranked[-2:])]))
    return Telling(
        records,
        tuple(single),
        tuple(_told(plan, pairs, records)),
        len(plan.domain) - len(single),
    )


def _small(block: Block) -> bool:
    """Whether a block can be predicted soon, and tells anything."""
    sizes = (math.prod(v.size for v in block.variables), math.prod(block.reported_shape))
    return not block.channel.withheld and max(sizes) <= MOST_CELLS


def _told(plan: Plan, sets: Iterable[Sequence[str]], records: int) -> list[Told]:
    """Return of tables how well each is told, the sharpest first; without what is not told."""
    found = []
    for names in sets:
        within = Plan(tuple(b for b in plan.blocks if set(b.names) & set(names)))
        if not told_by_moments(within, len(names)):
            continue
        ordered = tuple(name for name in within.domain.names if name in names)
        goal = Goal((ordered,), order=len(ordered))
        of = reference(Domain(tuple(within.domain[name] for name in ordered)))
        errors = by_moments(within, goal, of, records)
        if ordered in errors.noise:
            relative = ERRORS * math.sqrt(errors.noise[ordered][1] * MODERATE)
            found.append(Told(tuple(names), relative * _mean_share(ordered, of), relative))
    return sorted(found, key=lambda one: one.departure)


def _mean_share(names: Sequence[str], of: Mapping[str, np.ndarray]) -> float:
    return 1 / math.prod(len(of[name]) for name in names)
