"""Simulate the learning of a classifier from randomized records, tested on true ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pramana.simulate.study import ModelFits, Series, Trials, spread
from pramana_core import ties
from pramana_core.estimation.estimated import EstimatedMarginals, Estimator
from pramana_core.marginals.counts import Codes, Marginals
from pramana_core.plan import Plan
from pramana_core.progress import OnShare

if TYPE_CHECKING:
    from pramana_core.learn.prediction import Predictor


Learn = Callable[[Marginals, int], "Predictor"]
"""Learns a classifier from marginals; the second argument is a seed."""


@dataclass(frozen=True, eq=False)
class ClassifierOutcome:
    """How often classifiers learned from reports, and from the same records clean, are right.

    Every run has `accuracy`, `clean_accuracy` and `majority`, shares of the records held out: what
    the two classifiers, and the most frequent class of the clean records, have right. `agreement`
    is the share on which both predict the same, `seconds` the time to learn from the reports.
    `options` are the learner's, as JSON.
    """

    learner: str
    target: str
    trials: Trials
    estimator: Estimator
    options: Mapping[str, Any]
    runs: Series
    fits: ModelFits

    @property
    def better_than_majority(self) -> bool:
        """Whether what was learned from the reports is right more often than the majority is."""
        mean = self.runs.mean()
        return ties.exceeds(mean["accuracy"] or 0.0, mean["majority"] or 0.0)

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form; with one seed only `seconds` differ between calls."""
        return {
            "learner": self.learner,
            "source": self.trials.described(),
            "setting": {
                **self.trials.setting(),
                "target": self.target,
                "holdout": self.trials.holdout,
                "tested": self.trials.tested,
                "estimator": self.estimator,
                **self.options,
            },
            "accuracy": spread(self.runs, "accuracy"),
            "clean_accuracy": spread(self.runs, "clean_accuracy"),
            "majority": spread(self.runs, "majority"),
            "better_than_majority": self.better_than_majority,
            **self.runs.as_dict(),
            **self.fits.as_dict(),
        }


def simulate(
    learner: str,
    target: str,
    trials: Trials,
    learn: Learn,
    options: Mapping[str, Any],
    estimator: Estimator = "moment",
    on_step: OnShare = lambda _share: None,
) -> ClassifierOutcome:
    """Learn from the reports and from the clean records of every run; test on those held out.

    Raises:
        EstimationError, LimitExceeded: what the learner raises.
    """
    clean_plan = Plan.unrandomized(trials.source.domain)
    runs, fits = [], []
    for trial in trials:
        started = time.perf_counter()
        reports = EstimatedMarginals(trial.reported, trials.plan, estimator=estimator)
        noisy = learn(reports, trials.seed + trial.index)
        seconds = time.perf_counter() - started
        fits.append(reports.lack_of_fit)
        on_step((trial.index + 0.5) / trials.runs)
        clean = learn(EstimatedMarginals(trial.true, clean_plan), trials.seed + trial.index)
        frequent = int(np.argmax(trial.true.table([target])))
        first, second = (model.predict(trial.held_out) for model in (noisy, clean))
        truth = trial.held_out[target]
        runs.append(
            {
                "accuracy": float(np.mean(first == truth)),
                "clean_accuracy": float(np.mean(second == truth)),
                "majority": float(np.mean(truth == frequent)),
                "agreement": float(np.mean(first == second)),
                "seconds": seconds,
            }
        )
        on_step((trial.index + 1) / trials.runs)
    series, fitting = Series(tuple(runs)), ModelFits(tuple(fits))
    return ClassifierOutcome(learner, target, trials, estimator, options, series, fitting)


def accuracy(model: Predictor, codes: Mapping[str, Codes]) -> float:
    """Return the share of true records whose class a model predicts."""
    return float(np.mean(model.predict(codes) == codes[model.target.name]))
