"""A setting whose intervals are counted, and what came of its repetitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]

NOMINAL = 0.95
ALLOWED = (0.93, 0.97)
"""Where the coverage of intervals of 95 % has to be, on average over those of a setting."""


@dataclass(frozen=True)
class Interval:
    """Intervals of one repetition: what is true, and between which values it was said to be.

    All three are of one length, the same in each repetition. NaN limits: no interval was printed.
    """

    truth: npt.ArrayLike
    low: npt.ArrayLike
    high: npt.ArrayLike


@dataclass(frozen=True)
class Setting:
    """A small study to repeat.

    Args:
        name: what is estimated and by what, in words that fit a table's first column.
        where: number of records, channels, law: what the table's second column says.
        seed: repetition i draws from `default_rng([seed, i])`.
        repeat: one repetition, by the product's own code.
        names: of each interval; default their numbers.
        above: the least mean coverage allowed, and
        below: the greatest; 1 where the interval is conservative, and then
        why: says why.
        worst: the least coverage allowed of a single interval, up to chance.
        short: repetitions in CI; a few seconds.
    """

    name: str
    where: str
    seed: int
    repeat: Callable[[np.random.Generator], Interval]
    names: tuple[str, ...] = ()
    above: float = ALLOWED[0]
    below: float = ALLOWED[1]
    why: str = ""
    worst: float = ALLOWED[0]
    short: int = 100


@dataclass(frozen=True)
class Coverage:
    """What came of a setting's repetitions; arrays of shape (repetitions, intervals)."""

    truth: Numbers
    low: Numbers
    high: Numbers

    def narrowed(self, factor: float) -> Coverage:
        """Return intervals of another width around the same middle: for a negative control.

        Those without an end have no middle and stay.
        """
        ended = np.isfinite(self.low) & np.isfinite(self.high)
        low, high = np.where(ended, self.low, 0.0), np.where(ended, self.high, 0.0)
        middle, half = (low + high) / 2, (high - low) / 2
        return Coverage(
            self.truth,
            np.where(ended, middle - factor * half, self.low),
            np.where(ended, middle + factor * half, self.high),
        )

    @property
    def printed(self) -> npt.NDArray[np.bool_]:
        """Which intervals were printed."""
        return ~(np.isnan(self.low) | np.isnan(self.high))

    @property
    def holds(self) -> npt.NDArray[np.bool_]:
        """Which of them hold the truth."""
        return (self.low <= self.truth) & (self.truth <= self.high)

    @property
    def each(self) -> Numbers:
        """The coverage of each interval, where it was printed."""
        return np.asarray(self.holds.sum(axis=0) / np.maximum(self.printed.sum(axis=0), 1))

    @property
    def mean(self) -> float:
        """The coverage of all intervals printed."""
        return float(self.holds.sum() / max(self.printed.sum(), 1))

    @property
    def too_low(self) -> float:
        """How often an interval lies wholly below the truth."""
        return float((self.high < self.truth).sum() / max(self.printed.sum(), 1))

    @property
    def too_high(self) -> float:
        """How often an interval lies wholly above the truth."""
        return float((self.low > self.truth).sum() / max(self.printed.sum(), 1))

    @property
    def error(self) -> float:
        """The standard error of `mean`: repetitions are independent, intervals of one are not."""
        share = self.holds.sum(axis=1) - self.mean * self.printed.sum(axis=1)
        return float(np.sqrt(np.square(share).sum()) / max(self.printed.sum(), 1))


@dataclass(frozen=True)
class CoverageResult:
    """What is kept of a setting's repetitions: a line of benchmarks/coverage/results.json."""

    name: str
    where: str
    seed: int
    repetitions: int
    intervals: int
    mean: float
    error: float
    worst: float
    of_worst: str
    above: float
    below: float
    why: str

    @classmethod
    def of(cls, setting: Setting, found: Coverage) -> CoverageResult:
        """Count what came of a setting."""
        place = int(found.each.argmin())
        named = setting.names[place] if setting.names else f"number {place + 1}"
        return cls(
            setting.name,
            setting.where,
            setting.seed,
            *found.truth.shape,
            round(found.mean, 4),
            round(found.error, 4),
            round(float(found.each[place]), 4),
            named,
            round(found.too_high, 4),
            round(found.too_low, 4),
            setting.why,
        )


def covered(setting: Setting, repetitions: Sequence[int]) -> Coverage:
    """Repeat a setting, by these numbers of repetitions."""
    found = [setting.repeat(np.random.default_rng([setting.seed, i])) for i in repetitions]
    stacked = [
        np.array([np.atleast_1d(np.asarray(getattr(one, part), dtype=float)) for one in found])
        for part in ("truth", "low", "high")
    ]
    return Coverage(*stacked)
