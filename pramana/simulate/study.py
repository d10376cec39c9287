"""Repeated runs that draw records, randomize them and learn; their results and their means."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from pramana.setups import SeededOwner
from pramana.simulate.sources import Source
from pramana_core.estimation.estimated import EstimatedMarginals, Estimator
from pramana_core.marginals.counts import Codes, ReportedCounts
from pramana_core.marginals.lack_of_fit import LackOfFit, warnings_of
from pramana_core.plan import Plan
from pramana_core.privacy import DELTA, Amplification, ShuffledReport
from pramana_core.progress import OnShare
from pramana_core.report.numbers import finite
from pramana_core.wire.privacy import CentralMessage

if TYPE_CHECKING:
    from pramana_core.design import Design
    from pramana_core.report.report import Section


Numbers = Mapping[str, float | None]
"""The results of one run by name; None for a missing result."""


@dataclass(frozen=True)
class Series:
    """The results of all runs, each with the same names."""

    runs: tuple[Numbers, ...]

    def mean(self) -> dict[str, float | None]:
        """Return the mean of each result; None if it is missing in a run."""
        return {name: self.spread(name)["mean"] for name in self.runs[0]}

    def se(self) -> dict[str, float | None]:
        """Return the standard error of each mean over the runs; None for a single run."""
        deviations = {name: self.spread(name)["sd"] for name in self.runs[0]}
        root = math.sqrt(len(self.runs))
        return {name: None if sd is None else sd / root for name, sd in deviations.items()}

    def spread(self, name: str) -> dict[str, float | None]:
        """Return mean and standard deviation of a result; None if missing, or for a single run."""
        values = [value for run in self.runs if (value := run[name]) is not None]
        if not values or len(values) < len(self.runs):
            return {"mean": None, "sd": None}
        deviation = float(np.std(values, ddof=1)) if len(values) > 1 else None
        return {"mean": finite(float(np.mean(values))), "sd": deviation}

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"runs": [dict(run) for run in self.runs], "mean": self.mean(), "se": self.se()}


@dataclass(frozen=True, eq=False)
class Trial:
    """The true and the reported records of one run; `held_out` records are not reported."""

    index: int
    true: ReportedCounts
    reported: ReportedCounts
    held_out: Mapping[str, Codes]


@dataclass(frozen=True, eq=False)
class Trials:
    """The records, the plan and the number of runs.

    Every run has its own draw key. The same seed gives the same records and reports.

    Attributes:
        plan: the plan of all reports, over all owners together.
        design: the designer's comparison, if the plan was designed.
        holdout: the share of records that each run holds out at random for a test.
        delta: the delta of the central bound.

    """

    source: Source
    plan: Plan
    records: int
    runs: int
    seed: int
    design: Design | None = None
    holdout: float = 0.0
    delta: float = DELTA

    @property
    def tested(self) -> int:
        """The count of records held out in each run."""
        return round(self.holdout * self.records)

    @property
    def same_records(self) -> bool:
        """Whether all runs report the same records, because they use a whole table."""
        return not self.tested and self.source.same_records(self.records)

    @property
    def amplification(self) -> Amplification:
        """The amplification of the whole record under the plan."""
        return Amplification.together(self.plan.blocks)

    @property
    def central(self) -> CentralMessage:
        """The central bound of the reports of a run."""
        report = ShuffledReport.of(self.plan)
        return CentralMessage.of(report, self.records - self.tested, self.delta)

    def described(self) -> dict[str, Any]:
        """Return the source of the records as JSON."""
        source = self.source
        return {
            "kind": source.kind,
            "name": source.name,
            "variables": len(source.domain),
            "note": source.note,
        }

    def setting(self) -> dict[str, Any]:
        """Return the settings that determine records and reports, as JSON."""
        from pramana.simulate.designs import described

        central = self.central
        return {
            "records": self.records,
            "runs": self.runs,
            "seed": self.seed,
            **({"holdout": self.holdout, "tested": self.tested} if self.holdout else {}),
            **(described(self.design) if self.design is not None else {"design": None}),
            "gamma": finite(self.amplification.gamma),
            "central_epsilon": central.epsilon,
            "known_set": central.known_set,
            "delta": self.delta,
            "plan_digest": self.plan.digest,
        }

    def everything(self) -> ReportedCounts:
        """Return the true counts of a whole table, or of records drawn once from a network."""
        rng = np.random.default_rng([self.seed, self.runs])
        return ReportedCounts(self.source.draw(self.source.records, rng), self._sizes)

    def __iter__(self) -> Iterator[Trial]:
        owner = SeededOwner.of("simulate", self.seed, self.records - self.tested)
        drawn = self.plan if self.design is None else self.design.drawn
        for index in range(self.runs):
            rng = np.random.default_rng([self.seed, index])
            codes = self.source.draw(self.records, rng)
            order = rng.permutation(self.records) if self.tested else np.arange(self.records)
            held_out = _rows(codes, order[: self.tested])
            codes = _rows(codes, order[self.tested :])
            reported = owner.report(drawn, codes, index)
            yield Trial(index, ReportedCounts(codes, self._sizes), reported, held_out)

    @property
    def _sizes(self) -> dict[str, int]:
        return {v.name: v.size for v in self.source.domain}


def _rows(codes: Mapping[str, Codes], rows: npt.NDArray[np.int64]) -> dict[str, Codes]:
    return {name: column[rows] for name, column in codes.items()}


class Simulated(Protocol):
    """A simulated learner, which does each run's work and summarizes the findings of all runs."""

    name: str
    estimator: Estimator

    def settings(self) -> dict[str, Any]:
        """Return the learner's options as JSON."""

    def run(
        self, trials: Trials, trial: Trial, share: OnShare
    ) -> tuple[Numbers, EstimatedMarginals]:
        """Return a run's results and the counts it learned from; `share` receives the progress."""

    def findings(self, runs: Series) -> dict[str, Any]:
        """Return the findings of all runs as JSON."""

    def sections(self, found: Mapping[str, Any], trials: Trials) -> Iterable[Section]:
        """Yield the findings as sections of a report; the first section has no title."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """The runs of a learner.

    Attributes:
        kind: the simulated learner.
        trials: the records, the plan and the number of runs.
        runs: the results of each run.
        fits: the fit of each run's reports to the models of the counts, if any.
    """

    kind: Simulated
    trials: Trials
    runs: Series
    fits: tuple[tuple[LackOfFit, ...], ...]

    @property
    def warned(self) -> list[str]:
        """The first warning of each run whose counts contradict their model."""
        return [warnings[0] for run in self.fits if (warnings := warnings_of(run))]

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form; between runs with the same seed, only `seconds` differ."""
        setting = {**self.trials.setting(), "estimator": self.kind.estimator}
        found = {
            "learner": self.kind.name,
            "source": self.trials.described(),
            "setting": {**setting, **self.kind.settings()},
            **self.kind.findings(self.runs),
        }
        if any(self.fits):
            runs = [[test.as_dict() for test in run] for run in self.fits]
            found["lack_of_fit"] = {"runs": runs, "warned": len(self.warned)}
        return found


def simulate(kind: Simulated, trials: Trials, on_step: OnShare = lambda _share: None) -> Outcome:
    """Run a simulation of a learner.

    Raises EstimationError, LimitExceeded.
    """
    runs, fits = [], []
    for trial in trials:

        def share(done: float, first: int = trial.index) -> None:
            on_step((first + done) / trials.runs)

        numbers, counts = kind.run(trials, trial, share)
        runs.append(numbers)
        fits.append(counts.lack_of_fit)
        share(1.0)
    return Outcome(kind, trials, Series(tuple(runs)), tuple(fits))
