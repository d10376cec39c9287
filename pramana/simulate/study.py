"""Draw records, randomize and learn, again and again: numbers of each run and their means."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pramana.setups import SeededOwner
from pramana.simulate.sources import Source
from pramana_core.errors import OptionError
from pramana_core.estimation.estimated import EstimatedMarginals, Estimator
from pramana_core.marginals.counts import Codes, ReportedCounts
from pramana_core.marginals.lack_of_fit import LackOfFit, warnings_of
from pramana_core.plan import Plan
from pramana_core.privacy import Amplification
from pramana_core.progress import OnShare

if TYPE_CHECKING:
    from pramana_core.design import Design


Numbers = Mapping[str, float | None]
"""One run's results by name; None where there is none."""


@dataclass(frozen=True)
class Series:
    """The results of all runs, each with the same names."""

    runs: tuple[Numbers, ...]

    def mean(self) -> dict[str, float | None]:
        """Return the mean of each result; None where a run has none."""
        return {name: _or_none(np.mean, values) for name, values in self._columns()}

    def se(self) -> dict[str, float | None]:
        """Return the standard error of each mean over the runs; None for a single run."""
        return {name: _or_none(_standard_error, values) for name, values in self._columns()}

    def _columns(self) -> list[tuple[str, list[float | None]]]:
        return [(name, [run[name] for run in self.runs]) for name in self.runs[0]]

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"runs": [dict(run) for run in self.runs], "mean": self.mean(), "se": self.se()}


def _or_none(function: Any, values: Sequence[float | None]) -> float | None:
    present = [v for v in values if v is not None]
    result = float(function(present)) if len(present) == len(values) else math.nan
    return None if math.isnan(result) else result


def _deviation(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else math.nan


def _standard_error(values: Sequence[float]) -> float:
    return _deviation(values) / math.sqrt(len(values))


def spread(runs: Series, name: str) -> dict[str, float | None]:
    """Return mean and standard deviation of a result over the runs; the latter None for one run."""
    values = [run[name] for run in runs.runs]
    return {"mean": runs.mean()[name], "sd": _or_none(_deviation, values)}


def require_place(out: Path | None) -> None:
    """Refuse, before anything is computed, a place that the result cannot be written to.

    Raises:
        OptionError: the folder is not there, or the path is one.
    """
    if out is None:
        return
    if out.is_dir() or not out.parent.is_dir():
        raise OptionError(
            f"The result cannot be written to {out}:"
            f" {'it is a folder' if out.is_dir() else f'there is no folder {out.parent}'}.",
            where="--out",
            remedy="Name a file in a folder that is there.",
        )


def write_result(result: Mapping[str, Any], out: Path) -> None:
    """Write a result as JSON to a file.

    Raises:
        OptionError: the file cannot be written.
    """
    text = json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OptionError(
            f"The result cannot be written to {out}: {error.strerror}.", where="--out"
        ) from None


def require_repeatable(records: int, runs: int, seed: int, holdout: float) -> None:
    """Raise OptionError for no run, a negative seed, or a share that leaves a side too few."""
    if runs < 1:
        raise OptionError(f"runs must be at least 1, not {runs}.", where="--runs")
    if seed < 0:
        raise OptionError(f"seed must be 0 or more, not {seed}.", where="--seed")
    if not 0 <= holdout < 1 or (holdout and not 0 < round(holdout * records) < records - 1):
        raise OptionError(
            f"Holding out {holdout:g} of {records} records leaves too few on one side.",
            where="--holdout",
            remedy="Give a share between 0 and 1, usually 0.2 to 0.5.",
        )


@dataclass(frozen=True, eq=False)
class Trial:
    """The records of one run, as they are and as they are reported.

    `held_out` are the true codes of records that were neither reported nor counted.
    """

    index: int
    true: ReportedCounts
    reported: ReportedCounts
    held_out: Mapping[str, Codes]


@dataclass(frozen=True, eq=False)
class Trials:
    """What is repeated: how many records of what, under which plan, how often.

    Every run has a draw key of its own. The same seed gives the same records and reports.
    `design` is what a designer says who made the plan; where several owners report by a study plan,
    `plan` is that of all of them together. `holdout` is the share of the records that a run draws
    at random, does not report, and keeps for a test.

    Raises:
        OptionError: no run, a negative seed, or a share that leaves no record to one side.
    """

    source: Source
    plan: Plan
    records: int
    runs: int
    seed: int
    design: Design | None = None
    holdout: float = 0.0

    def __post_init__(self) -> None:
        require_repeatable(self.records, self.runs, self.seed, self.holdout)

    @property
    def tested(self) -> int:
        """The number of records held out in each run."""
        return round(self.holdout * self.records)

    @property
    def same_records(self) -> bool:
        """Whether all runs report the same records: a table, whole."""
        return not self.tested and self.source.same_records(self.records)

    @property
    def told(self) -> Amplification:
        """The amplification of the plan about the whole record."""
        return Amplification.together(self.plan.blocks)

    def described(self) -> dict[str, Any]:
        """Return, as JSON, what the records are of."""
        source = self.source
        return {
            "kind": source.kind,
            "name": source.name,
            "variables": len(source.domain),
            "note": source.note,
        }

    def setting(self) -> dict[str, Any]:
        """Return, as JSON, what decides records and reports."""
        from pramana.simulate.designs import described

        amplification = self.told
        return {
            "records": self.records,
            "runs": self.runs,
            "seed": self.seed,
            **({"holdout": self.holdout, "tested": self.tested} if self.holdout else {}),
            **(described(self.design) if self.design is not None else {"design": None}),
            "gamma": amplification.gamma if np.isfinite(amplification.gamma) else None,
            "plan_digest": self.plan.digest,
        }

    def everything(self) -> ReportedCounts:
        """Return the true counts of all records the source has, or of one draw from a network."""
        rng = np.random.default_rng([self.seed, self.runs])
        return ReportedCounts(self.source.draw(self.source.records, rng), self._sizes)

    def __iter__(self) -> Iterator[Trial]:
        owner = SeededOwner.of("simulate", self.seed, self.records - self.tested)
        drawn = self.plan if self.design is None else self.design.drawn
        for index in range(self.runs):
            rng = np.random.default_rng([self.seed, index])
            codes, held_out = self._split(self.source.draw(self.records, rng), rng)
            reported = owner.report(drawn, codes, index)
            yield Trial(index, ReportedCounts(codes, self._sizes), reported, held_out)

    def _split(
        self, codes: Mapping[str, Codes], rng: np.random.Generator
    ) -> tuple[Mapping[str, Codes], Mapping[str, Codes]]:
        if not self.tested:
            return codes, {name: column[:0] for name, column in codes.items()}
        order = rng.permutation(self.records)
        held, kept = order[: self.tested], order[self.tested :]
        return _rows(codes, kept), _rows(codes, held)

    @property
    def _sizes(self) -> dict[str, int]:
        return {v.name: v.size for v in self.source.domain}


def _rows(
    codes: Mapping[str, Codes], rows: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> dict[str, Codes]:
    return {name: column[rows] for name, column in codes.items()}


class Simulated(Protocol):
    """A learner as it is simulated: what is done in a run, and what all runs show."""

    name: str
    estimator: Estimator

    def settings(self) -> dict[str, Any]:
        """Return, as JSON, how it learns."""

    def run(
        self, trials: Trials, trial: Trial, share: OnShare
    ) -> tuple[Numbers, EstimatedMarginals]:
        """Return the numbers of a run, and the counts that it learned from; tell its progress."""

    def findings(self, runs: Series) -> dict[str, Any]:
        """Return, as JSON, what the runs show."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What the runs of a learner show.

    Attributes:
        kind: the learner.
        trials: what was repeated.
        runs: the numbers of each run.
        fits: how the reports of each run fit the models that counts were taken from, if any.
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
        """Return the JSON form; with one seed only `seconds` differ between calls."""
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
    """Learn in every run.

    Raises:
        EstimationError, LimitExceeded: what the learner raises.
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
