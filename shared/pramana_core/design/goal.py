"""What will be learned from the reports: the tables whose errors matter.

Also here:

* How owners share the epsilon of a record where each reports its part of a set by itself.
"""

from __future__ import annotations

import functools
import heapq
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from pramana_core.channels import require_prior
from pramana_core.domain import Domain, Variable
from pramana_core.errors import LimitExceeded, OptionError
from pramana_core.learn.common.options import Search
from pramana_core.learn.networks.structure import Structure
from pramana_core.marginals.counts import Tensor

Learn = Literal["counts", "pairs", "itemsets", "structure", "tree", "classifier"]

TARGETED = ("tree", "classifier")
"""What is learned about one variable, the target."""

COMBINATIONS = 10_000_000
"""Itemsets of so many sets of variables are not looked through."""

TABLES = 1 << 16
"""All sets of a length are wanted up to this many of them: the pairs of 362 variables."""

SETS = 64
"""Of a length with more, so many are; and so many of a length stand for all where each is dear."""

ATTRIBUTES = 0.25
"""The weight of the pairs of attributes beside those with the target, for a tree."""

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
        weights: how much each set counts, where not all lengths, and all sets of a length, alike.
        extras: tables that are welcome where records are left for them, and that nothing needs.
        target: the variable to predict, if one is.
        wider: learners ask for tables of up to so many variables besides: the families of a network
            whose structure is not known.
        searched: they do so for certain, and not only where a network is learned from pairs.
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
        """How much each set counts; they sum to 1."""
        if self.weights:
            total = math.fsum(self.weights)
            return {s: w / total for s, w in zip(self.sets, self.weights, strict=True)}
        lengths = self.by_length()
        return {s: 1 / len(lengths) / len(lengths[len(s)]) for s in self.sets}

    @cached_property
    def thinned(self) -> Goal:
        """The same with at most `SETS` evenly spaced sets of a length, which stand for the others.

        For predictions that take a while for each table.
        """
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
    length: int = 2,
    order: int | None = None,
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

    Args:
        domain: all variables.
        learn: the kind, or kinds with weights.
        length: the longest itemset.
        order: the most variables that interact; default 1 for counts, 2 for pairs and itemsets,
            the largest family for a given structure.
        minimum_support: see `Goal`.
        structure: parents by node.
        target: the variable that a tree or a classifier predicts.

    Raises:
        OptionError: an unknown kind, a weight that is not positive, a length outside 1 .. number of
            variables, an order above that number, or no target, or one that nothing needs.
        UnknownVariable: the target is no variable.
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
    kinds: Mapping[Learn, float] = {learn: 1.0} if isinstance(learn, str) else learn
    _require_kinds(kinds, target)
    found = _collected(
        [(_tables(domain, k, length, structure, target), w) for k, w in kinds.items()]
    )
    found = replace(
        found,
        order=found.order if order is None else order,
        minimum_support=minimum_support,
        # All lengths, and all sets of a length, count alike in one kind without a target.
        weights=found.weights if len(kinds) > 1 or target is not None else (),
        target=None if target is None else domain[target].name,
    )
    _require_predictable(domain, found)
    return found


def _require_kinds(kinds: Mapping[Learn, float], target: str | None) -> None:
    """Raises OptionError for kinds that there are not, weights, or a target too few or too many."""
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
    aims = [kind for kind in kinds if kind in TARGETED]
    if aims and target is None:
        raise OptionError(
            f"Learning a {aims[0]} needs a target.",
            where="target",
            remedy="Name the variable to predict.",
        )
    if target is not None and not aims:
        raise OptionError(
            f"Learning {', '.join(kinds)} has no target.",
            where="target",
            remedy="Leave it out, or learn a tree or a classifier.",
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


# How owners share the epsilon of a record where each reports its part of a set by itself.

_STEPS = 512
"""The epsilon is dealt out in so many equal steps."""


def kept(cells: int, epsilon: float) -> float:
    """Return how often the most accurate symmetric channel keeps one of so many cells."""
    return math.expm1(epsilon) / (math.expm1(epsilon) + cells)


@functools.lru_cache(maxsize=1 << 16)
def shares(cells: Sequence[int], most: Sequence[float], epsilon: float) -> tuple[float, ...]:
    """Return each part's epsilon, so that all parts are kept together as often as can be.

    Independent reports of the parts have the Fisher information prod w_i^2 about the contrasts of
    the interaction of all of them, w_i how often part i is kept. log w_i is concave in its epsilon,
    so that steps to where they gain most are the best.

    Args:
        cells: the cells of each part.
        most: the largest epsilon that each may have.
        epsilon: what they have together.
    """
    step = epsilon / _STEPS

    def gain(part: int, steps: int) -> float:
        if (steps + 1) * step > most[part] * (1 + 1e-12):
            return 0.0
        return math.log(kept(cells[part], (steps + 1) * step) / kept(cells[part], steps * step))

    # Every part begins with one step: with none it would say nothing.
    taken = [1] * len(cells)
    queue = [(-gain(part, 1), part) for part in range(len(cells))]
    heapq.heapify(queue)
    for _ in itertools.repeat(None, _STEPS - len(cells)):
        best, part = queue[0]
        if best == 0.0:
            break
        taken[part] += 1
        heapq.heapreplace(queue, (-gain(part, taken[part]), part))
    return tuple(float(min(most[part], steps * step)) for part, steps in enumerate(taken))
