"""Small studies to repeat, the coverage of their intervals, and the page about the coverage."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pramana_core.channels import RESOLUTION, Choice, Sampled, Symmetric, Transition
from pramana_core.domain import Domain
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.marginals.counts import Codes, ReportedCounts
from pramana_core.plan import Block, Plan

Numbers = npt.NDArray[np.float64]

ALLOWED = (0.93, 0.97)
"""The accepted mean coverage of a setting's intervals of 95 %."""


@dataclass(frozen=True)
class Interval:
    """The intervals of one repetition, and the true values.

    All three arrays have the same length in each repetition. Limits that were not printed are NaN.
    """

    truth: npt.ArrayLike
    low: npt.ArrayLike
    high: npt.ArrayLike


@dataclass(frozen=True)
class Setting:
    """A small study to repeat.

    Args:
        name: the estimate and its method, as text for the table's first column.
        where: the count of records, the channels and the law, for the table's second column.
        seed: repetition i draws from `default_rng([seed, i])`.
        repeat: one repetition, by the product's own code.
        below: the largest mean coverage allowed; 1 for conservative intervals.
        why: the reason why the intervals are conservative.
        worst: the smallest coverage allowed for a single interval, within the error of chance.
        short: the count of repetitions in CI, which take a few seconds.
    """

    name: str
    where: str
    seed: int
    repeat: Callable[[np.random.Generator], Interval]
    below: float = ALLOWED[1]
    why: str = ""
    worst: float = ALLOWED[0]
    short: int = 100


@dataclass(frozen=True)
class Coverage:
    """The intervals of all repetitions; arrays of shape (repetitions, intervals)."""

    truth: Numbers
    low: Numbers
    high: Numbers

    def narrowed(self, factor: float) -> Coverage:
        """Return the intervals with their widths multiplied by `factor`, as a negative control.

        Infinite intervals stay unchanged.
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
        """Whether each interval was printed."""
        return ~(np.isnan(self.low) | np.isnan(self.high))

    @property
    def holds(self) -> npt.NDArray[np.bool_]:
        """Whether each interval contains the truth."""
        return (self.low <= self.truth) & (self.truth <= self.high)

    @property
    def each(self) -> Numbers:
        """The coverage of each interval over the repetitions that printed it."""
        return np.asarray(self.holds.sum(axis=0) / np.maximum(self.printed.sum(axis=0), 1))

    @property
    def mean(self) -> float:
        """The coverage of all printed intervals."""
        return float(self.holds.sum() / max(self.printed.sum(), 1))

    @property
    def too_low(self) -> float:
        """The share of the intervals that lie wholly below the truth."""
        return float((self.high < self.truth).sum() / max(self.printed.sum(), 1))

    @property
    def too_high(self) -> float:
        """The share of the intervals that lie wholly above the truth."""
        return float((self.low > self.truth).sum() / max(self.printed.sum(), 1))

    @property
    def error(self) -> float:
        """The standard error of `mean`, which treats only repetitions as independent."""
        share = self.holds.sum(axis=1) - self.mean * self.printed.sum(axis=1)
        return float(np.sqrt(np.square(share).sum()) / max(self.printed.sum(), 1))


@dataclass(frozen=True)
class CoverageResult:
    """The coverage of a setting, as stored in a line of benchmarks/coverage/results.json."""

    name: str
    where: str
    seed: int
    repetitions: int
    intervals: int
    mean: float
    error: float
    worst: float
    above: float
    below: float
    why: str

    @classmethod
    def of(cls, setting: Setting, found: Coverage) -> CoverageResult:
        return cls(
            setting.name,
            setting.where,
            setting.seed,
            len(found.truth),
            found.truth.shape[1],
            round(found.mean, 4),
            round(found.error, 4),
            round(float(found.each.min()), 4),
            round(found.too_high, 4),
            round(found.too_low, 4),
            setting.why,
        )


def covered(setting: Setting, repetitions: Sequence[int]) -> Coverage:
    """Run the repetitions with these indices, and return their coverage."""
    found = [setting.repeat(np.random.default_rng([setting.seed, i])) for i in repetitions]
    stacked = [
        np.array([np.atleast_1d(np.asarray(getattr(one, part), dtype=float)) for one in found])
        for part in ("truth", "low", "high")
    ]
    return Coverage(*stacked)


# The product's keyed draws are tested elsewhere; numpy's generator draws from the same declared
# matrices many times faster for a few hundred records.
def records_of(
    plan: Plan, law: Numbers, records: int, rng: np.random.Generator
) -> dict[str, Codes]:
    """Draw true records from a law, whose axes are the plan's variables in order."""
    domain = plan.domain
    cells = rng.choice(law.size, records, p=law.ravel() / law.sum())
    codes = np.unravel_index(cells, domain.shape)
    return {v.name: c.astype(np.uint16) for v, c in zip(domain, codes, strict=True)}


def reports_of(plan: Plan, true: dict[str, Codes], rng: np.random.Generator) -> ReportedCounts:
    """Randomize records block by block, each block by its declared matrix."""
    reported: dict[str, Codes] = {}
    for block in plan.blocks:
        sizes = tuple(v.size for v in block.variables)
        cells = np.ravel_multi_index(
            [true[v.name].astype(np.int64) for v in block.variables], sizes
        )
        reports = _randomized(block.channel, cells, rng)
        parts = np.unravel_index(reports, block.reported_shape)
        reported |= {n: c.astype(np.uint16) for n, c in zip(block.names, parts, strict=True)}
    return ReportedCounts(reported, plan.reported_sizes)


def estimated(
    plan: Plan, law: Numbers, records: int, rng: np.random.Generator, **how: Any
) -> EstimatedMarginals:
    """Draw records, randomize them and return estimates from the reports."""
    reports = reports_of(plan, records_of(plan, law, records, rng), rng)
    return EstimatedMarginals(reports, plan, **how)


def _randomized(channel: Transition, cells: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    chances = channel.apply(np.eye(channel.shape[0]), 1)
    limits = np.cumsum(chances, axis=1)
    limits[:, -1] = 1.0
    found = np.empty(len(cells), dtype=np.int64)
    drawn = rng.random(len(cells))
    for cell in np.unique(cells):
        of_cell = cells == cell
        found[of_cell] = np.searchsorted(limits[cell], drawn[of_cell], side="right")
    return found


PAGE = Path(__file__).resolve().parents[2] / "docs" / "coverage.md"


def row(found: CoverageResult) -> str:
    cells = (
        found.name,
        found.where,
        str(found.seed),
        str(found.intervals),
        f"{found.mean:.3f} ± {found.error:.3f}",
        f"{found.worst:.3f}",
        f"{found.above:.3f}",
        f"{found.below:.3f}",
    )
    return f"| {' | '.join(cells)} |"


def page(results: Sequence[CoverageResult]) -> str:
    """Return the text of the page: the table, and reasons why some intervals are wide."""
    from jinja2 import Template

    template = Template(
        Path(__file__).with_name("page.md.j2").read_text(encoding="utf-8"),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    repetitions = f"{min(found.repetitions for found in results):,}"
    wide = [found for found in results if found.why]
    text: str = template.render(repetitions=repetitions, results=results, wide=wide, row=row)
    return text


def domain_of(*sizes: int) -> Domain:
    """Return a domain of variables a, b, ... with these counts of categories."""
    return Domain.of(**{name: "stuvwxyz"[:k] for name, k in zip("abcdef", sizes, strict=False)})


def interacting(domain: Domain, strength: float, order: int = 2, seed: int = 5) -> Numbers:
    """Return a law with random log-scale effects for each set of up to `order` variables."""
    rng = np.random.default_rng(seed)
    height = np.zeros(domain.shape)
    axes = range(len(domain))
    for size in range(1, order + 1):
        for chosen in itertools.combinations(axes, size):
            effect = rng.normal(size=[domain.shape[a] for a in chosen]) * strength
            height += effect.reshape([domain.shape[a] if a in chosen else 1 for a in axes])
    theta = np.exp(height)
    return np.asarray(theta / theta.sum(), dtype=np.float64)


def parity(domain: Domain, kept: float = 0.95) -> Numbers:
    """Return a law of bits in which the third is usually the parity of the first two."""
    first, second, third, *_ = np.indices(domain.shape)
    law = np.where(first ^ second == third, kept, 1 - kept)
    return np.asarray(law / law.sum(), dtype=np.float64)


def apart_given_last(domain: Domain, seed: int = 5) -> Numbers:
    """Return a law in which all variables except the last are independent given the last."""
    rng = np.random.default_rng(seed)
    last = rng.dirichlet(np.full(domain.shape[-1], 5.0))
    law = last
    for size in reversed(domain.shape[:-1]):
        own = rng.dirichlet(np.full(size, 3.0), size=len(last)).T
        law = own.reshape(size, *[1] * (law.ndim - 1), len(last)) * law
    return np.asarray(law, dtype=np.float64)


def columns(domain: Domain, p: float) -> Plan:
    """Return a plan that changes each value on its own with probability p."""
    return Plan(
        tuple(Block((v,), Symmetric.from_gamma(v.size, (1 - p) * (v.size - 1) / p)) for v in domain)
    )


def sampled(domain: Domain, sets: Sequence[Sequence[int]], gamma: float) -> Plan:
    """Return a plan by which each record reports one of the given sets of variables."""
    choices = tuple(
        Choice(
            tuple(axes),
            RESOLUTION // len(sets),
            Symmetric.from_gamma(math.prod(domain.shape[a] for a in axes), gamma),
        )
        for axes in sets
    )
    return Plan((Block(domain.variables, Sampled(domain.shape, choices)),))


def sampled_pairs(domain: Domain, gamma: float) -> Plan:
    """Return a plan by which each record reports one pair of variables."""
    return sampled(domain, list(itertools.combinations(range(len(domain)), 2)), gamma)
