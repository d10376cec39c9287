"""What a job will take, told by the plans alone before it runs: seconds and bytes of memory.

A kind of job says how much work it is, in units; `RATES` says what a unit takes on the machine they
were measured on (`python -m benchmarks.costs`), and the machine that runs the jobs corrects that by
those it has run. A prediction is right within a factor, not to the second: it decides what is
refused and who goes first, and the limits of a running job hold whatever was predicted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Generic, Literal, TypeVar

SpecT = TypeVar("SpecT")

Unit = Literal[
    "jobs",
    "counted",
    "solved",
    "likelihood",
    "tested",
    "information",
    "log-linear",
    "pooled",
    "told",
    "asked",
    "families",
    "links",
    "nodes",
    "resampled",
    "supports",
    "planes",
    "steps",
    "drawn",
    "fitted",
    "grown",
    "paths",
]

RATES: Mapping[Unit, float] = {
    "jobs": 6.7e-03,
    "counted": 8.4e-10,
    "solved": 3.3e-08,
    "likelihood": 1.6e-04,
    "tested": 4.8e-04,
    "information": 1.2e-10,
    "log-linear": 6.8e-05,
    "pooled": 2.4e-08,
    "told": 5.1e-06,
    "asked": 5.8e-04,
    "families": 3.9e-04,
    "links": 5.0e-04,
    "nodes": 1.4e-04,
    "resampled": 4.6e-08,
    "supports": 3.0e-10,
    "planes": 4.7e-06,
    "steps": 4.1e-05,
    "drawn": 1.2e-07,
    "fitted": 9.2e-09,
    "grown": 2.5e-06,
    "paths": 1.0e-05,
}
"""Seconds of one processor for a unit of each kind of work."""

PROCESS_BYTES = 250e6
"""What a worker that has loaded its learners holds before it begins."""

BOUNDS = (0.1, 10.0)
"""What a machine has seen corrects a prediction by no more than this."""

SEEN = 20
"""Of so many jobs of a kind, the last, a machine learns how it differs."""


@dataclass(frozen=True)
class Cost:
    """What a job is predicted to take: seconds of one processor, and bytes of memory."""

    seconds: float
    bytes: float

    def corrected(self, factor: float) -> Cost:
        """Return the cost on a machine that takes `factor` times as long."""
        return Cost(self.seconds * factor, self.bytes)

    def within(self, seconds: float, bytes_: float) -> bool:
        """Whether it is no more than what is allowed."""
        return self.seconds <= seconds and self.bytes <= bytes_

    def __str__(self) -> str:
        return f"{duration(self.seconds)} and {size(self.bytes)} of memory"


@dataclass(frozen=True)
class Work:
    """How much work a job is, in units, and what it holds at once in bytes."""

    units: Mapping[Unit, float] = field(default_factory=dict)
    held: float = 0.0

    def __add__(self, other: Work) -> Work:
        names = {*self.units, *other.units}
        units = {name: self.units.get(name, 0.0) + other.units.get(name, 0.0) for name in names}
        return Work(units, max(self.held, other.held))

    def times(self, number: float) -> Work:
        """Return this work done so often, one after the other."""
        return Work({name: number * much for name, much in self.units.items()}, self.held)

    def cost(self, rates: Mapping[Unit, float] = RATES) -> Cost:
        """Return what it takes."""
        units = {"jobs": 1.0, **self.units}
        seconds = sum(rates[name] * much for name, much in units.items())
        return Cost(seconds, PROCESS_BYTES + self.held)


@dataclass(frozen=True)
class Reduction(Generic[SpecT]):
    """A way to ask for less of something that there are `most` of.

    `make` returns a specification with so many, `told` says in words how many are allowed.
    """

    most: int
    make: Callable[[int], SpecT]
    told: Callable[[int], str]
    least: int = 1


def affordable_alternatives(
    ways: Iterable[Reduction[SpecT]], fits: Callable[[SpecT], bool]
) -> list[str]:
    """Return, for each way to ask for less that helps, how much of it fits.

    Args:
        ways: of the specification that does not fit.
        fits: whether a specification does.
    """
    found = []
    for way in ways:
        low, high = way.least - 1, way.most
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits(way.make(middle)) else (low, middle)
        if low >= way.least:
            found.append(way.told(low))
    return found


def fewer(names: Collection[str], what: str, make: Callable[[int], SpecT]) -> Reduction[SpecT]:
    """Return the way to ask for less by naming fewer of some variables."""
    return Reduction(len(names), make, lambda most: f"of these {len(names)} {what} at most {most}")


def lower(now: int, what: str, make: Callable[[int], SpecT], least: int = 1) -> Reduction[SpecT]:
    """Return the way to ask for less by a smaller number."""
    return Reduction(now, make, lambda most: f"`{what}` of at most {most:,}", least)


def correction(ratios: Sequence[float]) -> float:
    """Return by how much a machine differs, given what jobs took over what was predicted.

    It is their median, within `BOUNDS`; one or two jobs say nothing yet.
    """
    known = [ratio for ratio in ratios if math.isfinite(ratio) and ratio > 0]
    if len(known) < 3:
        return 1.0
    return min(max(median(known), BOUNDS[0]), BOUNDS[1])


def duration(seconds: float) -> str:
    """Return a time in words, as exact as predictions are."""
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"about {_rounded(seconds / length)} {unit}"
    return f"about {_rounded(max(seconds, 1))} seconds"


def size(bytes_: float) -> str:
    """Return an amount of memory in words."""
    if bytes_ >= 2**30:
        return f"{_rounded(bytes_ / 2**30)} GiB"
    return f"{_rounded(bytes_ / 2**20)} MiB"


def _rounded(number: float) -> str:
    """Return two digits of a number."""
    if number < 10:
        return f"{number:.2g}"
    return f"{float(f'{number:.2g}'):,.0f}"
