"""The nodes of a decision tree: what each knows of the class, and the question it asks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from shared.errors import DomainError, NotStochastic

_SUM_TOLERANCE = 1e-9


@dataclass(frozen=True)
class NodeClasses:
    """What is known of the classes of a node's records; every tuple has a number per class.

    `counts` are the raw estimates, which may be negative, and `se_records` and `se_population`
    their standard errors given the records and against the population. `effective` is how many
    records that are not randomized would tell as much. `probabilities` is the valid distribution
    that predictions use.

    Raises:
        DomainError: no classes, tuples of different lengths, a number or a sum that is not finite,
            or an error that is negative.
        NotStochastic: probabilities that are negative or do not sum to 1.
    """

    counts: tuple[float, ...]
    se_records: tuple[float, ...]
    se_population: tuple[float, ...]
    effective: float
    probabilities: tuple[float, ...]

    def __post_init__(self) -> None:
        parts = (self.counts, self.se_records, self.se_population, self.probabilities)
        if not self.counts or len({len(part) for part in parts}) > 1:
            raise DomainError("A node needs counts, errors and probabilities of one length.")
        # Not `math.fsum`: it raises where a sum is too large.
        if not all(math.isfinite(sum(map(abs, part))) for part in (*parts, (self.effective,))):
            raise DomainError("A node's counts and errors must be finite numbers.")
        if min(*self.se_records, *self.se_population, self.effective) < 0:
            raise DomainError("A node's errors and effective records must be 0 or more.")
        if min(self.probabilities) < 0 or abs(math.fsum(self.probabilities) - 1) > _SUM_TOLERANCE:
            raise NotStochastic("A node's class probabilities are not a distribution.")

    @property
    def total(self) -> float:
        """The estimated number of the node's records."""
        return math.fsum(self.counts)

    @property
    def decision(self) -> int:
        """The most probable class, the first of equals."""
        return self.probabilities.index(max(self.probabilities))


@dataclass(frozen=True)
class Split:
    """The question of a node.

    `gain` is the information gain in bits and `se` its standard error against the population;
    `chance` the gain that would be expected if the attribute told nothing, `degrees` the degrees
    of freedom of its test, `tried` the number of attributes it was the best of, and `p_value` the
    probability that chance alone would show as much for the best of them.
    """

    attribute: str
    gain: float
    se: float
    chance: float
    degrees: int
    tried: int
    p_value: float

    def __post_init__(self) -> None:
        numbers = (self.gain, self.se, self.chance, self.p_value)
        if not all(math.isfinite(number) and number >= 0 for number in numbers):
            raise DomainError(
                f"The split by {self.attribute!r} has a number that is negative or not finite.",
                where=self.attribute,
            )
        if self.degrees < 1 or self.tried < 1:
            raise DomainError(
                f"The split by {self.attribute!r} has no degree of freedom, or none was tried.",
                where=self.attribute,
            )


@dataclass(frozen=True)
class Node:
    """A leaf, or a question with a child for each category of its attribute in code order."""

    classes: NodeClasses
    split: Split | None = None
    children: tuple[Node, ...] = ()

    def __iter__(self) -> Iterator[Node]:
        """Yield this node and all below it, each before its children."""
        yield self
        for child in self.children:
            yield from child

    @property
    def depth(self) -> int:
        """The most questions on a path from here."""
        return max((1 + child.depth for child in self.children), default=0)
