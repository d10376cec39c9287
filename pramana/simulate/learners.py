"""Simulate the learning of a classifier, tested on true records, and the mining of itemsets.

Also here:

* How wrong frequent itemsets are that were found in reports (FRAPP 7, accuracy metrics).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pramana.simulate.study import ModelFits, Series, Trial, Trials, spread
from pramana_core import ties
from pramana_core.estimation.estimated import EstimatedMarginals, Estimator
from pramana_core.learn.common.options import RuleOptions
from pramana_core.learn.rules.itemsets import FoundItemsets, all_items
from pramana_core.learn.rules.mining import mine_itemsets
from pramana_core.marginals.counts import Codes, Marginals
from pramana_core.marginals.support_counts import Item
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


# How wrong frequent itemsets are that were found in reports (FRAPP 7, accuracy metrics).

Supports = Mapping[tuple[int, ...], float]
"""Itemsets, as ascending places of their items, with their supports."""

MEASURES = ("support_error", "false_negatives", "false_positives")
"""The columns of `by_length` that are errors, all in percent."""


def chosen(found: FoundItemsets) -> dict[tuple[int, ...], float]:
    """Return the itemsets that were taken for frequent, with their supports."""
    return {itemset.items: itemset.support for itemset in found.frequent}


def by_length(truth: Supports, found: Supports) -> pd.DataFrame:
    """Compare found with truly frequent itemsets.

    Args:
        truth: the frequent itemsets of the records.
        found: those taken for frequent; places of the same items.

    Returns:
        A row per length that has truly frequent itemsets: `length`, `frequent` and `found` (their
        numbers), `support_error` (the mean relative error of the supports of those rightly found;
        NaN if none is), `false_negatives` and `false_positives` relative to the number of truly
        frequent ones, in percent.
    """
    lengths = sorted({len(items) for items in truth})
    rows = [(length, *_compared(_of(truth, length), _of(found, length))) for length in lengths]
    return pd.DataFrame(rows, columns=["length", "frequent", "found", *MEASURES])


def overall(truth: Supports, found: Supports) -> dict[str, float | None]:
    """Compare itemsets of all lengths together.

    Returns:
        The numbers of `by_length`, and `false_discovery`, the share of the itemsets found that are
        not frequent, and `power`, the share of the frequent ones that are found, both in percent.
        None where there is nothing to take a share of; of no discoveries none is false.
    """
    frequent, number, *errors = _compared(truth, found)
    right = len(set(truth) & set(found))
    named = dict(zip(("frequent", "found", *MEASURES), (frequent, number, *errors), strict=True))
    named["false_discovery"] = 100 * (number - right) / max(number, 1)
    named["power"] = 100 * right / frequent if frequent else np.nan
    return {name: None if np.isnan(value) else float(value) for name, value in named.items()}


def _of(itemsets: Supports, length: int) -> Supports:
    return {items: support for items, support in itemsets.items() if len(items) == length}


def _compared(truth: Supports, found: Supports) -> tuple[int, int, float, float, float]:
    right = [items for items in truth if items in found]
    errors = [abs(found[items] - truth[items]) / truth[items] for items in right]
    return (
        len(truth),
        len(found),
        100 * float(np.mean(errors)) if errors else np.nan,
        100 * (len(truth) - len(right)) / len(truth) if truth else np.nan,
        100 * (len(found) - len(right)) / len(truth) if truth else np.nan,
    )


_PERCENT = dict(zip(MEASURES, ("support_error", "false_negative", "false_positive"), strict=True))
"""The names of the errors in JSON, without what they are in."""


@dataclass(frozen=True, eq=False)
class RulesOutcome:
    """What the runs found in the reports, against the truly frequent itemsets of their records.

    `lengths` has a row per run and length (`run` and the columns of `by_length`); `totals` are
    `overall` of every run, with the `seconds` it took.
    """

    trials: Trials
    mining: RuleOptions
    estimator: Estimator
    lengths: pd.DataFrame
    totals: Series
    fits: ModelFits
    modelled_from: int | None

    def means(self) -> pd.DataFrame:
        """Return means over the runs and their standard errors (`..._se`) by length."""
        groups = self.lengths.groupby("length")
        made = groups[["frequent", "found"]].mean()
        for measured in MEASURES:
            made[measured] = groups[measured].mean()
            made[f"{measured}_se"] = groups[measured].sem()
        return made.reset_index()

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form; with one seed only `seconds` differ between calls."""
        return {
            "learner": "rules",
            "source": self.trials.described(),
            "setting": {
                **self.trials.setting(),
                "estimator": self.estimator,
                **asdict(self.mining),
            },
            "by_length": [_as_json(row) for row in self.means().to_dict("records")],
            "overall": self.totals.as_dict(),
            "modelled_from": self.modelled_from,
            **self.fits.as_dict(),
        }


def simulate_rules(
    trials: Trials,
    mining: RuleOptions,
    estimator: Estimator = "moment",
    on_step: OnShare = lambda _share: None,
) -> RulesOutcome:
    """Mine the reports of every run and compare with the frequent itemsets of its own records.

    Raises:
        EstimationError, LimitExceeded: what the learner raises of single items.
    """
    items = all_items(trials.source.domain)
    truth: Supports | None = None
    modelled: int | None = None
    tables, totals, fits = [], [], []
    for trial in trials:
        if truth is None or not trials.same_records:
            truth = frequent(trials, trial, items, mining)
        started = time.perf_counter()
        marginals = EstimatedMarginals(trial.reported, trials.plan, estimator=estimator)
        mined = mine_itemsets(marginals, items, mining)
        found, modelled = chosen(mined), mined.modelled_from
        seconds = time.perf_counter() - started
        tables.append(by_length(truth, found).assign(run=trial.index))
        fits.append(marginals.lack_of_fit)
        totals.append(overall(truth, found) | {"seconds": seconds})
        on_step((trial.index + 1) / trials.runs)
    lengths = pd.concat(tables, ignore_index=True)
    series, fitting = Series(tuple(totals)), ModelFits(tuple(fits))
    return RulesOutcome(trials, mining, estimator, lengths, series, fitting, modelled)


def frequent(
    trials: Trials, trial: Trial, items: tuple[Item, ...], options: RuleOptions
) -> Supports:
    """Return the truly frequent itemsets of a run's records."""
    exact = EstimatedMarginals(trial.true, Plan.unrandomized(trials.source.domain))
    points = RuleOptions(options.minimum_support, options.max_length)
    return chosen(mine_itemsets(exact, items, points))


def _as_json(row: dict[Hashable, Any]) -> dict[str, Any]:
    """Return one length's means under the names of the JSON form; None for what is not there."""
    made: dict[str, Any] = {"length": int(row["length"])}
    made |= {name: float(row[name]) for name in ("frequent", "found")}
    for measured, name in _PERCENT.items():
        made[f"{name}_pct"] = _or_none(row[measured])
        made[f"{name}_se"] = _or_none(row[f"{measured}_se"])
    return made


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
