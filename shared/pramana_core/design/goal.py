"""Goals of a design: the tables whose errors matter for learning a kind of model."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

from pramana_core.alike import first_few
from pramana_core.domain import Domain
from pramana_core.errors import LimitExceeded, OptionError
from pramana_core.learn.common.options import Search
from pramana_core.learn.networks.structure import Structure

Learn = Literal["counts", "pairs", "itemsets", "structure", "tree", "classifier"]

TARGETED: tuple[Learn, ...] = ("tree", "classifier")
"""The kinds of learning that predict one variable, which is called the target."""

USERS: Mapping[str, tuple[Learn, ...]] = {
    "length": ("itemsets",),
    "structure": ("structure",),
    "target": TARGETED,
}
"""The kinds of learning that use each optional argument of the function `goal`."""

LENGTH = 3
"""The default maximum length of itemsets."""

COMBINATIONS = 10_000_000
"""The maximum number of sets of variables of one length."""

TABLES = 1 << 16
"""The maximum number of tables of one or two variables, which is all pairs of 362 variables."""

SETS = 64
"""The maximum number of longer tables of one length, and of short ones that are slow to predict."""

ATTRIBUTES = 0.25
"""The weight of a pair of attributes in the goal of a tree; a pair with the target has weight 1."""

CELLS = 1 << 22
"""The maximum number of cells of a table whose errors are predicted."""


@dataclass(frozen=True)
class Goal:
    """Tables over sets of variables, with weights for their errors.

    Args:
        sets: the sets of variables, each in the domain's order.
        order: the maximum order of interactions; reports must contain all interactions up to it.
        minimum_support: errors of cells with a smaller expected share are relative to this share.
        omitted: the number of sets of variables omitted from the prediction.
        weights: one for each set; by default all lengths, and all sets of a length, have equal
            weight.
        extras: additional tables, which get records that the wanted tables do not need.
        target: the variable to predict.
        wider: the maximum number of variables in other tables that a learner may need.
        searched: whether a learner certainly needs these other tables.
    """

    sets: tuple[tuple[str, ...], ...]
    order: int
    minimum_support: float = 0.0
    omitted: int = 0
    weights: tuple[float, ...] = ()
    extras: tuple[tuple[str, ...], ...] = ()
    target: str | None = None
    wider: int = 0
    searched: bool = False

    def __post_init__(self) -> None:
        if not self.sets or self.order < 1 or not 0 <= self.minimum_support < 1:
            raise OptionError(
                "A goal needs tables, an order of at least 1, and a minimum support in [0, 1)."
            )
        if self.weights and len(self.weights) != len(self.sets):
            raise OptionError("A goal needs one weight for each table.")

    @cached_property
    def shares(self) -> dict[tuple[str, ...], float]:
        """The weight of each set; the weights sum to 1."""
        if self.weights:
            total = math.fsum(self.weights)
            return {s: w / total for s, w in zip(self.sets, self.weights, strict=True)}
        lengths = self.by_length()
        return {s: 1 / len(lengths) / len(lengths[len(s)]) for s in self.sets}

    @cached_property
    def thinned(self) -> Goal:
        """The goal with at most `SETS` sets of each length, evenly spaced in the list of sets."""
        kept = list[tuple[str, ...]]()
        weights = list[float]()
        for sets in self.by_length().values():
            stride = math.ceil(len(sets) / SETS)
            some = sets[::stride]
            counted = math.fsum(self.shares[s] for s in some)
            whole = math.fsum(self.shares[s] for s in sets)
            kept += some
            weights += [self.shares[s] * whole / counted for s in some]
        if len(kept) == len(self.sets):
            return self
        return replace(self, sets=tuple(kept), weights=tuple(weights))

    def by_length(self) -> dict[int, tuple[tuple[str, ...], ...]]:
        """Return the sets of variables by their length, shortest first."""
        lengths = sorted({len(names) for names in self.sets})
        return {k: tuple(names for names in self.sets if len(names) == k) for k in lengths}


def goal(
    domain: Domain,
    learn: Learn,
    *,
    length: int | None = None,
    minimum_support: float = 0.0,
    structure: Mapping[str, Sequence[str]] | None = None,
    target: str | None = None,
) -> Goal:
    """Return the tables that a kind of learning needs.

    `counts`: each variable. `pairs`: each pair. `itemsets`: each set of up to `length` variables.
    `structure`: each node with its parents, or all pairs if no structure is given. `classifier`:
    the target with each attribute. `tree`: also pairs of attributes, with lower weight.

    Raises:
        OptionError: the kind is unknown, the length is outside 1 .. number of variables, or an
            argument is missing or has no effect for the kind.
        UnknownVariable, StructureError: the target is not a variable, or the structure has a cycle.
        LimitExceeded: a table has more than `CELLS` cells.
    """
    if learn not in get_args(Learn):
        raise OptionError(
            f"{learn!r} is not a kind of learning.",
            where="learn",
            remedy=f"Choose one of {', '.join(get_args(Learn))}.",
        )
    if target is None and learn in TARGETED:
        raise OptionError(
            f"Learning {learn} needs a target.",
            where="target",
            remedy=f"Name the variable to predict, one of {first_few(domain.names, 12)}.",
        )
    given = {"length": length, "structure": structure, "target": target}
    for option, users in USERS.items():
        if given[option] is not None and learn not in users:
            raise OptionError(
                f"Learning {learn} does not use {option}.",
                where=option,
                remedy=f"Omit it, or learn {' or '.join(users)}.",
            )
    name = None if target is None else domain[target].name
    if name is not None and len(domain) > 1:
        result = _predicting(domain, learn, name)
    elif structure is not None:
        families = Structure.of(structure)
        sets = [_ordered(domain, (node, *families.parents[node])) for node in families.nodes]
        result = Goal(tuple(dict.fromkeys(sets)), max(map(len, sets)))
    else:
        longest = min(LENGTH, len(domain)) if length is None else length
        result = _up_to(domain, learn, _longest(learn, longest, len(domain)))
    result = replace(result, minimum_support=minimum_support)
    _require_predictable(domain, result)
    return result


def _predicting(domain: Domain, learn: Learn, target: str) -> Goal:
    others = [name for name in domain.names if name != target]
    sets = [_ordered(domain, (target, name)) for name in others]
    pairs = _some(others, 2)
    both = tuple(_ordered(domain, (target, *pair)) for pair in pairs)
    weights = [1.0 / len(sets)] * len(sets)
    if learn == "tree":
        sets += pairs
        weights += [ATTRIBUTES / len(pairs)] * len(pairs) if pairs else []
    return Goal(tuple(sets), 2, weights=tuple(weights), extras=both, target=target)


def _up_to(domain: Domain, learn: Learn, longest: int) -> Goal:
    count = len(domain)
    groups = [_some(domain.names, k) for k in range(1, longest + 1)]
    searched = learn == "structure"
    return Goal(
        tuple(itertools.chain.from_iterable(groups)),
        min(2, longest),
        omitted=sum(math.comb(count, k) - len(some) for k, some in enumerate(groups, 1)),
        wider=min(1 + Search.max_parents, count) if searched or learn == "pairs" else 0,
        searched=searched,
    )


def _longest(learn: Learn, length: int, count: int) -> int:
    if learn != "itemsets":
        return 1 if learn == "counts" else min(2, count)
    if not 1 <= length <= count:
        raise OptionError(
            f"The length of itemsets must be between 1 and {count}, the number of variables.",
            where="length",
        )
    return length


def _some(names: Sequence[str], size: int) -> list[tuple[str, ...]]:
    total = math.comb(len(names), size)
    if total > COMBINATIONS:
        raise LimitExceeded(
            f"There are {total} sets of {size} variables; the limit is {COMBINATIONS}.",
            where="length",
            remedy="Choose shorter itemsets.",
        )
    most = TABLES if size <= 2 else SETS
    stride = max(1, math.ceil(total / most))
    return list(itertools.islice(itertools.combinations(names, size), 0, None, stride))[:most]


def _require_predictable(domain: Domain, goal: Goal) -> None:
    largest = max(goal.sets, key=lambda names: domain.project(names).size)
    cells = domain.project(largest).size
    if cells > CELLS:
        raise LimitExceeded(
            f"{list(largest)} has {cells} cells; errors can be predicted for {CELLS} at most.",
            where="length",
            remedy="Choose tables of fewer variables, or merge categories.",
        )


def _ordered(domain: Domain, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted(names, key=domain.axis))
