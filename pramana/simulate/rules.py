"""Simulate the mining of frequent itemsets from randomized records."""

from __future__ import annotations

import math
import time
from collections.abc import Hashable
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from pramana.simulate.itemset_errors import MEASURES, Supports, by_length, chosen, overall
from pramana.simulate.study import Fits, Series
from pramana.simulate.trials import Trial, Trials
from pramana_core.estimation.estimated import EstimatedMarginals, Estimator
from pramana_core.learn.rules.items import all_items
from pramana_core.learn.rules.mining import mine_itemsets
from pramana_core.learn.rules.options import RuleOptions
from pramana_core.marginals.support_counts import Item
from pramana_core.plan import Plan
from pramana_core.progress import OnShare

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
    fits: Fits
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


def simulate(
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
    series, fitting = Series(tuple(totals)), Fits(tuple(fits))
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
