"""What will be learned from the reports: the tables whose errors matter."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from shared.channels import require_prior
from shared.domain import Domain, Variable
from shared.errors import LimitExceeded, OptionError
from shared.learn.networks.structure import Structure
from shared.marginals.counts import Tensor

Learn = Literal["counts", "pairs", "itemsets", "structure"]

COMBINATIONS = 10_000_000
"""Itemsets of so many sets of variables are not looked through."""

SETS = 64
"""Of each length, the errors of at most this many sets of variables are predicted."""

CELLS = 1 << 22
"""A table of more cells than this is not predicted."""


@dataclass(frozen=True)
class Goal:
    """Tables over sets of variables, and where in them the errors count.

    Args:
        sets: the sets of variables, each in the domain's order.
        order: the most variables that interact, in the analyst's judgement: reports must tell all
            interactions up to it.
        minimum_support: cells with a smaller expected share are not counted; where a set has no
            larger one, its largest cell is.
        omitted: how many sets of variables were left out of the prediction.
    """

    sets: tuple[tuple[str, ...], ...]
    order: int
    minimum_support: float = 0.0
    omitted: int = 0

    def __post_init__(self) -> None:
        if not self.sets or self.order < 1 or not 0 <= self.minimum_support < 1:
            raise OptionError(
                "A goal needs tables, interactions of one variable or more, and a minimum support"
                " of 0 or more and below 1."
            )

    def by_length(self) -> dict[int, tuple[tuple[str, ...], ...]]:
        """Return the sets by their number of variables, shortest first."""
        lengths = sorted({len(names) for names in self.sets})
        return {k: tuple(names for names in self.sets if len(names) == k) for k in lengths}


def goal(
    domain: Domain,
    learn: Learn,
    *,
    length: int = 2,
    order: int | None = None,
    minimum_support: float = 0.0,
    structure: Mapping[str, Sequence[str]] | None = None,
) -> Goal:
    """Return the tables that a kind of learning needs.

    `counts`: every variable alone. `pairs`: every pair too, if there is one. `itemsets`: every set
    of up to `length` variables. `structure`: every node with its parents (`structure`), or all
    pairs where none is given yet.

    Args:
        domain: all variables.
        learn: the kind.
        length: the longest itemset.
        order: the most variables that interact; default 1 for counts, 2 for pairs and itemsets,
            the largest family for a given structure.
        minimum_support: see `Goal`.
        structure: parents by node.

    Raises:
        OptionError: an unknown kind, a length outside 1 .. number of variables, or an order above
            that number.
        StructureError: the structure is not acyclic.
        LimitExceeded: a table has more than `CELLS` cells.
    """
    count = len(domain.names)
    if order is not None and order > count:
        raise OptionError(
            f"{order} variables cannot interact: there are {count}.",
            where="order",
            remedy=f"Let at most {count} interact.",
        )
    omitted = 0
    if learn == "structure" and structure is not None:
        families = Structure.of(structure)
        sets = [_ordered(domain, (node, *families.parents[node])) for node in families.nodes]
        interactions = max(map(len, sets))
    else:
        longest = _longest(learn, length, count)
        sets, omitted = _sets(domain.names, longest)
        interactions = min(2, longest)
    chosen = tuple(dict.fromkeys(sets))
    made = Goal(chosen, interactions if order is None else order, minimum_support, omitted)
    _require_predictable(domain, made)
    return made


def _longest(learn: Learn, length: int, count: int) -> int:
    """Return how many of `count` variables the longest tables have. Raises OptionError."""
    pair = min(2, count)
    longest = {"counts": 1, "pairs": pair, "structure": pair, "itemsets": length}.get(learn)
    if longest is None:
        raise OptionError(
            f"There is no design for learning {learn!r}.",
            where="learn",
            remedy="Choose counts, pairs, itemsets or structure.",
        )
    if not 1 <= longest <= count:
        raise OptionError(
            f"The length of itemsets must be between 1 and {count}, the number of variables.",
            where="length",
        )
    return longest


def _sets(names: Sequence[str], longest: int) -> tuple[list[tuple[str, ...]], int]:
    """Return the sets of up to so many variables, and how many were left out.

    Raises:
        LimitExceeded: more than `COMBINATIONS` of one length.
    """
    chosen: list[tuple[str, ...]] = []
    omitted = 0
    for k in range(1, longest + 1):
        total = math.comb(len(names), k)
        if total > COMBINATIONS:
            raise LimitExceeded(
                f"There are {total} sets of {k} of {len(names)} variables; {COMBINATIONS} are"
                " allowed.",
                where="length",
                remedy="Ask for shorter itemsets.",
            )
        stride = max(1, math.ceil(total / SETS))
        some = list(itertools.islice(itertools.combinations(names, k), 0, None, stride))[:SETS]
        chosen += some
        omitted += total - len(some)
    return chosen, omitted


def _require_predictable(domain: Domain, made: Goal) -> None:
    """Refuse tables too large to be predicted cell by cell. Raises LimitExceeded."""
    largest = max(made.sets, key=lambda names: domain.project(names).size)
    cells = domain.project(largest).size
    if cells > CELLS:
        raise LimitExceeded(
            f"The table of {list(largest)} has {cells} cells; errors are predicted of at most"
            f" {CELLS}.",
            where="length",
            remedy="Ask for shorter tables, or merge categories.",
        )


def _ordered(domain: Domain, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted(names, key=domain.axis))


def reference(
    domain: Domain, probabilities: Mapping[str, Sequence[float]] | None = None
) -> dict[str, Tensor]:
    """Return a publicly known distribution of each variable, uniform where none is given.

    Errors are predicted as if the variables were independent with these distributions.

    Raises:
        UnknownVariable, OptionError: probabilities of no variable, or no distribution.
    """
    given = dict(probabilities or {})
    for name in given:
        domain.axis(name)
    return {
        v.name: _prior(v, given[v.name]) if v.name in given else np.full(v.size, 1 / v.size)
        for v in domain
    }


def _prior(variable: Variable, given: Sequence[float]) -> Tensor:
    try:
        return require_prior(given, variable.size)
    except OptionError as error:
        raise OptionError(
            f"For variable {variable.name!r}: {error.message}",
            where=variable.name,
            remedy=f"Give {variable.size} probabilities that sum to 1, or none.",
        ) from None
