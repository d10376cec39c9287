"""What will be learned from the reports: the tables whose errors matter."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

from pramana_core.domain import Domain
from pramana_core.errors import LimitExceeded, OptionError
from pramana_core.learn.common.options import Search
from pramana_core.learn.networks.structure import Structure

Learn = Literal["counts", "pairs", "itemsets", "structure", "tree", "classifier"]

TARGETED: tuple[Learn, ...] = ("tree", "classifier")
"""The kinds of learning that predict one variable, the target."""

USERS: Mapping[str, tuple[Learn, ...]] = {
    "length": ("itemsets",),
    "structure": ("structure",),
    "target": TARGETED,
}
"""The kinds of learning that use each argument of `goal`."""

LENGTH = 3
"""The longest itemset by default."""

COMBINATIONS = 10_000_000
"""The most sets of variables of one length."""

TABLES = 1 << 16
"""The most tables of one or two variables: the pairs of 362 variables."""

SETS = 64
"""The most tables of each greater length; of shorter ones where a table takes long to predict."""

ATTRIBUTES = 0.25
"""The weight of the pairs of attributes for a tree; those with the target have 1."""

CELLS = 1 << 22
"""The most cells of a predicted table."""


@dataclass(frozen=True)
class Goal:
    """Tables over sets of variables, with their weights.

    Args:
        sets: the sets of variables, each in the domain's order.
        order: the most variables that interact: reports must show all interactions up to it.
        minimum_support: errors of cells with a smaller expected share are relative to it.
        omitted: the number of sets of variables left out of the prediction.
        weights: one for each set; by default all lengths, and all sets of a length, count alike.
        extras: tables that are welcome where records are left for them.
        target: the variable to predict.
        wider: the most variables of further tables that a learner may ask for: the families of a
            network whose structure is not known.
        searched: whether it certainly asks for them.
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
                "A goal needs tables, interactions of one variable or more, and a minimum support"
                " of 0 or more and below 1."
            )
        if self.weights and len(self.weights) != len(self.sets):
            raise OptionError("A goal's weights are one for each of its tables.")

    @cached_property
    def shares(self) -> dict[tuple[str, ...], float]:
        """The weight of each set; they sum to 1."""
        if self.weights:
            total = math.fsum(self.weights)
            return {s: w / total for s, w in zip(self.sets, self.weights, strict=True)}
        lengths = self.by_length()
        return {s: 1 / len(lengths) / len(lengths[len(s)]) for s in self.sets}

    @cached_property
    def thinned(self) -> Goal:
        """The goal with at most `SETS` evenly spaced sets of a length in place of all."""
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
        """Return the sets by their number of variables, shortest first."""
        lengths = sorted({len(names) for names in self.sets})
        return {k: tuple(names for names in self.sets if len(names) == k) for k in lengths}


def goal(
    domain: Domain,
    learn: Learn | Mapping[Learn, float],
    *,
    length: int | None = None,
    minimum_support: float = 0.0,
    structure: Mapping[str, Sequence[str]] | None = None,
    target: str | None = None,
) -> Goal:
    """Return the tables that a kind of learning needs, or several kinds with their weights.

    `counts`: every variable alone. `pairs`: every pair too, if there is one. `itemsets`: every set
    of up to `length` variables. `structure`: every node with its parents (`structure`), or all
    pairs where none is given yet. `classifier`: the target with every attribute, and, where
    records are left for them, with two. `tree`: the target with every attribute, and with less
    weight the pairs of attributes.

    The most variables that interact are one for counts, the largest family of a given structure,
    and else two.

    Args:
        domain: all variables.
        learn: the kind, or kinds with weights.
        length: the longest itemset; None is `LENGTH`, or all variables where they are fewer.
        minimum_support: see `Goal`.
        structure: parents by node, for `structure` only.
        target: the variable that a tree or a classifier predicts.

    Raises:
        OptionError: an unknown kind, a weight that is not positive, a length outside 1 .. number of
            variables, no target where one is needed, or a length, structure or target that nothing
            uses.
        UnknownVariable: the target is no variable.
        StructureError: the structure is not acyclic.
        LimitExceeded: a table has more than `CELLS` cells.
    """
    kinds: Mapping[Learn, float] = {learn: 1.0} if isinstance(learn, str) else learn
    _require_kinds(kinds)
    _require_used(kinds, length, structure, target)
    longest = min(LENGTH, len(domain)) if length is None else length
    found = _collected(
        [(_tables(domain, k, longest, structure, target), w) for k, w in kinds.items()]
    )
    found = replace(
        found,
        minimum_support=minimum_support,
        # All lengths, and all sets of a length, count alike in one kind without a target.
        weights=found.weights if len(kinds) > 1 or target is not None else (),
        target=None if target is None else domain[target].name,
    )
    _require_predictable(domain, found)
    return found


def _require_kinds(kinds: Mapping[Learn, float]) -> None:
    """Raises OptionError for an unknown kind or a weight that is not positive."""
    unknown = [kind for kind in kinds if kind not in get_args(Learn)]
    if unknown or not kinds:
        raise OptionError(
            f"There is no design for learning {unknown[0]!r}."
            if unknown
            else "Nothing is learned.",
            where="learn",
            remedy=f"Choose {', '.join(get_args(Learn))}, or several with weights.",
        )
    if not all(weight > 0 and math.isfinite(weight) for weight in kinds.values()):
        raise OptionError("The weights of what is learned must be positive.", where="learn")


def _require_used(
    kinds: Mapping[Learn, float],
    length: int | None,
    structure: Mapping[str, Sequence[str]] | None,
    target: str | None,
) -> None:
    """Raises OptionError where a target is missing, or nothing uses what is given."""
    named = " and ".join(kinds)
    if target is None and any(kind in TARGETED for kind in kinds):
        raise OptionError(
            f"Learning {named} needs a target.",
            where="target",
            remedy="Name the variable to predict.",
        )
    given = {"length": length, "structure": structure, "target": target}
    for name, users in USERS.items():
        if given[name] is not None and not any(kind in users for kind in kinds):
            raise OptionError(
                f"Learning {named} has no {name}.",
                where=name,
                remedy=f"Leave it out, or learn {' or '.join(users)}.",
            )


def _collected(made: Sequence[tuple[_Tables, float]]) -> Goal:
    """Return the goal of several kinds of learning with their weights."""
    counts: dict[tuple[str, ...], float] = {}
    for tables, weight in made:
        for sets, share in tables.wanted:
            for names in sets:
                counts[names] = counts.get(names, 0.0) + weight * share / len(sets)
    extras = dict.fromkeys(itertools.chain.from_iterable(tables.extras for tables, _ in made))
    return Goal(
        tuple(counts),
        max(tables.order for tables, _ in made),
        omitted=sum(tables.omitted for tables, _ in made),
        weights=tuple(counts.values()),
        extras=tuple(names for names in extras if names not in counts),
        wider=max(tables.wider for tables, _ in made),
        searched=any(tables.searched for tables, _ in made),
    )


@dataclass(frozen=True)
class _Tables:
    """What a kind of learning wants: groups of tables with their shares, extras, and the order."""

    wanted: tuple[tuple[Sequence[tuple[str, ...]], float], ...]
    order: int
    extras: Sequence[tuple[str, ...]] = ()
    omitted: int = 0
    wider: int = 0
    searched: bool = False


def _tables(
    domain: Domain,
    kind: Learn,
    length: int,
    structure: Mapping[str, Sequence[str]] | None,
    target: str | None,
) -> _Tables:
    names, count = domain.names, len(domain.names)
    if kind in TARGETED and target is not None and count > 1:
        others = [name for name in names if name != domain[target].name]
        with_target = [_ordered(domain, (target, name)) for name in others]
        pairs = _some(others, 2)
        both = [_ordered(domain, (target, *pair)) for pair in pairs]
        if kind == "classifier" or not pairs:
            return _Tables(((with_target, 1.0),), 2, both)
        total = 1 + ATTRIBUTES
        return _Tables(((with_target, 1 / total), (pairs, ATTRIBUTES / total)), 2, both)
    if kind == "structure" and structure is not None:
        families = Structure.of(structure)
        sets = [_ordered(domain, (node, *families.parents[node])) for node in families.nodes]
        chosen = Goal(tuple(dict.fromkeys(sets)), 1)
        interactions = max(map(len, sets))
        return _Tables(
            tuple((s, 1 / len(chosen.by_length())) for s in chosen.by_length().values()),
            interactions,
        )
    longest = _longest(kind, length, count)
    groups = [_some(names, k) for k in range(1, longest + 1)]
    left_out = sum(math.comb(count, k) - len(some) for k, some in enumerate(groups, 1))
    order = min(2, longest)
    searched = kind == "structure"
    wider = min(1 + Search.max_parents, count) if searched or kind == "pairs" else 0
    each = tuple((some, 1 / longest) for some in groups)
    return _Tables(each, order, (), left_out, wider, searched)


def _longest(learn: Learn, length: int, count: int) -> int:
    """Return how many of `count` variables the longest tables have. Raises OptionError."""
    if learn != "itemsets":
        return 1 if learn == "counts" else min(2, count)
    if not 1 <= length <= count:
        raise OptionError(
            f"The length of itemsets must be between 1 and {count}, the number of variables.",
            where="length",
        )
    return length


def _some(names: Sequence[str], size: int) -> list[tuple[str, ...]]:
    """Return the sets of `size` variables, or, where they are too many, some that are spread."""
    total = math.comb(len(names), size)
    if total > COMBINATIONS:
        raise LimitExceeded(
            f"There are {total} sets of {size} of {len(names)} variables; {COMBINATIONS} are"
            " allowed.",
            where="length",
            remedy="Ask for shorter itemsets.",
        )
    most = TABLES if size <= 2 else SETS
    stride = max(1, math.ceil(total / most))
    return list(itertools.islice(itertools.combinations(names, size), 0, None, stride))[:most]


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
