"""Simulation of learning a classifier, tested on true records."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from pramana.simulate.study import Numbers, Series, Trial, Trials
from pramana_core import ties
from pramana_core.estimation.estimated import EstimatedMarginals, Estimator
from pramana_core.learn.common.worth import compared
from pramana_core.marginals.counts import Codes, Marginals
from pramana_core.marginals.score_interval import normal_quantile
from pramana_core.marginals.tables import LEVEL
from pramana_core.plan import Plan
from pramana_core.progress import OnShare
from pramana_core.report.numbers import number
from pramana_core.report.report import Column, Section, Sentence, Table

if TYPE_CHECKING:
    from pramana_core.learn.prediction import Predictor

_SHOWN = {
    "accuracy": "learned from the reports",
    "clean_accuracy": "learned from the clean records",
    "majority": "the most frequent class",
}


class ClassifierSimulation:
    """Tests two classifiers in every run, learned from the reports and from the clean records.

    A run has `accuracy`, `clean_accuracy` and `majority`, the accuracies of the two classifiers and
    of the most frequent class on held-out records; `gain`, `accuracy` minus `majority`, and its
    standard error `gain_se`; `agreement`, the share of records with equal predictions of both
    classifiers; `seconds`, the time to learn from the reports.
    """

    def __init__(
        self,
        name: str,
        target: str,
        options: Any,
        estimator: Estimator,
        chosen: Callable[[Marginals], Any] | None = None,
    ) -> None:
        self.name, self.target, self.options, self.estimator = name, target, options, estimator
        self._chosen = chosen or (lambda _marginals: options)

    def settings(self) -> dict[str, Any]:
        return {"target": self.target, **asdict(self.options)}

    def run(
        self, trials: Trials, trial: Trial, share: OnShare
    ) -> tuple[Numbers, EstimatedMarginals]:
        from pramana_core.learn.learners import LEARNERS

        learner = next(one for one in LEARNERS.values() if isinstance(self.options, one.options))

        def learn(marginals: Marginals) -> Predictor:
            options, seed = self._chosen(marginals), trials.seed + trial.index
            found: Predictor = learner.learn(marginals, self.target, None, options, seed=seed)
            return found

        started = time.perf_counter()
        reports = EstimatedMarginals(trial.reported, trials.plan, estimator=self.estimator)
        noisy = learn(reports)
        seconds = time.perf_counter() - started
        share(0.5)
        clean = learn(EstimatedMarginals(trial.true, Plan.unrandomized(trials.source.domain)))
        frequent = int(np.argmax(trial.true.table([self.target])))
        first, second = (model.predict(trial.held_out) for model in (noisy, clean))
        truth = trial.held_out[self.target]
        gained = (first == truth) * 1.0 - (truth == frequent)
        return {
            "accuracy": float(np.mean(first == truth)),
            "clean_accuracy": float(np.mean(second == truth)),
            "majority": float(np.mean(truth == frequent)),
            "gain": float(gained.mean()),
            "gain_se": float(gained.std()) / math.sqrt(len(truth)),
            "agreement": float(np.mean(first == second)),
            "seconds": seconds,
        }, reports

    def findings(self, runs: Series) -> dict[str, Any]:
        mean = runs.mean()
        # Runs hold out records of one table, so more runs do not reduce this error.
        error = math.hypot(mean["gain_se"] or 0.0, runs.se()["gain"] or 0.0)
        gain, half = mean["gain"] or 0.0, normal_quantile(LEVEL) * error
        return {
            "verdict": compared((gain, gain - half, gain + half), "guessing the majority"),
            **{name: runs.spread(name) for name in _SHOWN},
            "better_than_majority": ties.exceeds(mean["accuracy"] or 0.0, mean["majority"] or 0.0),
            **runs.as_dict(),
        }

    def sections(self, found: Mapping[str, Any], trials: Trials) -> Iterator[Section]:
        title = f"accuracy on {trials.tested:,} held-out records"
        yield Section(table=spread_table(title, _SHOWN, found))
        better = found["verdict"].startswith("Better")
        sentences = [
            Sentence(found["verdict"], "plain" if better else "warning"),
            Sentence(
                "sd is the standard deviation over the runs; each run splits the records again."
            ),
        ]
        yield Section(sentences=sentences)


def spread_table(title: str, shown: Mapping[str, str], found: Mapping[str, Any]) -> Table:
    """Return a table with the mean and the standard deviation of each result."""
    rows = [{"what": words, **found[name]} for name, words in shown.items()]
    columns = (
        Column(title, lambda row: row["what"], number=False),
        Column("mean", lambda row: number(row["mean"])),
        Column("sd", lambda row: number(row["sd"])),
    )
    return Table(columns, [row for row in rows if row["mean"] is not None])


def accuracy(model: Predictor, codes: Mapping[str, Codes]) -> float:
    """Return the share of true records whose class a model predicts correctly."""
    return float(np.mean(model.predict(codes) == codes[model.target.name]))
