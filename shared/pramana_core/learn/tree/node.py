"""The nodes of a decision tree: what each knows of the class, and the question it asks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from pramana_core.errors import DomainError, NotStochastic
from pramana_core.ties import first_largest

_SUM_TOLERANCE = 1e-9


@dataclass(frozen=True)
class NodeClasses:
    """What is known of the classes of a node's records; every tuple has a number per class.

    `counts` are the raw estimates, which may be negative, and `se_records` and `se_population`
    their standard errors given the records and against the population. `low` and `high` are the
    ends of 95 % intervals of the classes' shares of the node's records, against the population (see
    `shares`). `effective` is how many records that are not randomized would tell as much.
    `probabilities` is the valid distribution that decides and that predictions use: the node's own
    proportions moved towards its parent's, by the share `leaned` of the way.

    Raises:
        DomainError: no classes, tuples of different lengths, a number or a sum that is not finite,
            an error that is negative, or a share outside [0, 1].
        NotStochastic: probabilities that are negative or do not sum to 1.
    """

    counts: tuple[float, ...]
    se_records: tuple[float, ...]
    se_population: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    effective: float
    leaned: float
    probabilities: tuple[float, ...]

    def __post_init__(self) -> None:
        errors, ends = (self.se_records, self.se_population), (self.low, self.high)
        parts = (self.counts, *errors, *ends, self.probabilities)
        if not self.counts or len({len(part) for part in parts}) > 1:
            raise DomainError("A node needs counts, errors and probabilities of one length.")
        # Not `math.fsum`: it raises where a sum is too large.
        if not all(math.isfinite(sum(map(abs, part))) for part in (*parts, (self.effective,))):
            raise DomainError("A node's counts and errors must be finite numbers.")
        if min(*self.se_records, *self.se_population, self.effective) < 0:
            raise DomainError("A node's errors and effective records must be 0 or more.")
        if not all(0 <= share <= 1 for share in (*self.low, *self.high, self.leaned)):
            raise DomainError("A node's intervals of shares must lie between 0 and 1.")
        if min(self.probabilities) < 0 or abs(math.fsum(self.probabilities) - 1) > _SUM_TOLERANCE:
            raise NotStochastic("A node's class probabilities are not a distribution.")

    @property
    def total(self) -> float:
        """The estimated number of the node's records."""
        return math.fsum(self.counts)

    @property
    def proportions(self) -> tuple[float, ...] | None:
        """The shares of the classes by the node's own counts, cut to [0, 1]; None of no records."""
        total = self.total
        if total <= 0 or not self.effective:
            return None
        return tuple(min(max(count / total, 0.0), 1.0) for count in self.counts)

    @property
    def decision(self) -> int:
        """The most probable class, the first of equals."""
        return first_largest(self.probabilities)


@dataclass(frozen=True)
class Split:
    """The question of a node.

    `gain` is the information gain of the estimated counts in bits and `chance` what would be
    expected of it if the attribute told nothing. `excess` is the gain over chance: an estimate of
    what the attribute tells of the class in the population. `low` and `high` are the ends of its
    95 % interval, which begins above 0 if and only if `p_value` is below 0.05. `statistic` is the
    likelihood ratio statistic by which the split is tested, `limit` what it had to exceed (None
    where there was no test), `degrees` the degrees of freedom, `tried` the number of attributes it
    was the best of, and `p_value` the probability that chance alone would show as much for the best
    of them.
    """

    attribute: str
    gain: float
    excess: float
    low: float
    high: float
    chance: float
    statistic: float
    limit: float | None
    degrees: int
    tried: int
    p_value: float

    def __post_init__(self) -> None:
        interval = (self.low, self.excess, self.high)
        numbers = (self.gain, *interval, self.chance, self.statistic, self.p_value, self.limit or 0)
        if not all(math.isfinite(number) and number >= 0 for number in numbers):
            raise DomainError(
                f"The split by {self.attribute!r} has a number that is negative or not finite.",
                where=self.attribute,
            )
        if self.low > self.high:
            raise DomainError(
                f"The interval of what {self.attribute!r} tells ends before it begins.",
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
