"""Simulation of itemset mining: the errors of itemsets found in reports (FRAPP 7)."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from pramana.simulate.study import Numbers, Series, Trial, Trials
from pramana_core.estimation.estimated import EstimatedMarginals, Estimator
from pramana_core.learn.common.options import RuleOptions
from pramana_core.learn.rules.itemsets import FoundItemsets, items_of
from pramana_core.learn.rules.mining import mine_itemsets
from pramana_core.plan import Plan
from pramana_core.progress import OnShare
from pramana_core.report.numbers import finite, measured, number
from pramana_core.report.report import Column, Row, Section, Table

Supports = Mapping[tuple[int, ...], float]
"""Itemsets, as ascending positions of their items, with their supports."""

MEASURES = ("support_error", "false_negatives", "false_positives")
"""The columns of `by_length` that are errors, all in percent."""


def chosen(found: FoundItemsets) -> dict[tuple[int, ...], float]:
    """Return the itemsets that were accepted as frequent, with their supports."""
    return {itemset.items: itemset.support for itemset in found.frequent}


def by_length(truth: Supports, found: Supports) -> pd.DataFrame:
    """Compare itemsets found with truly frequent ones, both given as positions of their items.

    Returns one row per length with truly frequent itemsets: `length`, the counts `frequent` and
    `found`, `support_error` (the mean relative error of the supports of correctly found itemsets;
    NaN if no itemset was correctly found), `false_negatives` and `false_positives` relative to
    `frequent`, in percent.
    """
    lengths = sorted({len(items) for items in truth})
    rows = [(length, *_compared(_of(truth, length), _of(found, length))) for length in lengths]
    return pd.DataFrame(rows, columns=["length", "frequent", "found", *MEASURES])


def overall(truth: Supports, found: Supports) -> dict[str, float | None]:
    """Compare the itemsets found with the truly frequent itemsets, over all lengths together.

    Returns the measures of `by_length` and, in percent, `false_discovery`, the share of the
    itemsets found that are not frequent, and `power`, the share of the frequent itemsets that were
    found. An undefined share is None.
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


class RulesSimulation:
    """Mines every run's reports; compares the result with the true records' itemsets."""

    name = "association-rules"

    def __init__(self, trials: Trials, mining: RuleOptions, estimator: Estimator) -> None:
        self.mining, self.estimator = mining, estimator
        self._items = items_of(trials.source.domain)
        self._truth: Supports | None = None
        self._lengths: list[pd.DataFrame] = []
        self._modelled: int | None = None

    def settings(self) -> dict[str, Any]:
        return asdict(self.mining)

    def run(
        self,
        trials: Trials,
        trial: Trial,
        share: OnShare,  # noqa: ARG002 - mining has no steps
    ) -> tuple[Numbers, EstimatedMarginals]:
        if self._truth is None or not trials.same_records:
            exact = EstimatedMarginals(trial.true, Plan.unrandomized(trials.source.domain))
            points = RuleOptions(self.mining.minimum_support, self.mining.max_length)
            self._truth = chosen(mine_itemsets(exact, self._items, points))
        started = time.perf_counter()
        marginals = EstimatedMarginals(trial.reported, trials.plan, estimator=self.estimator)
        mined = mine_itemsets(marginals, self._items, self.mining)
        found, self._modelled = chosen(mined), mined.modelled_from
        seconds = time.perf_counter() - started
        self._lengths.append(by_length(self._truth, found))
        return overall(self._truth, found) | {"seconds": seconds}, marginals

    def findings(self, runs: Series) -> dict[str, Any]:
        groups = pd.concat(self._lengths, ignore_index=True).groupby("length")
        made = groups[["frequent", "found"]].mean()
        for name in MEASURES:
            made[name] = groups[name].mean()
            made[f"{name}_se"] = groups[name].sem()
        return {
            "by_length": [_as_json(row) for row in made.reset_index().to_dict("records")],
            "overall": runs.as_dict(),
            "modelled_from": self._modelled,
        }

    def sections(self, found: Mapping[str, Any], trials: Trials) -> Iterator[Section]:  # noqa: ARG002
        columns = (
            Column("length", lambda row: f"{row['length']}"),
            Column("frequent", lambda row: number(row["frequent"])),
            Column("found", lambda row: number(row["found"])),
            Column("support error %", _error("support_error")),
            Column("missed %", _error("false_negative")),
            Column("false %", _error("false_positive")),
        )
        yield Section(table=Table(columns, found["by_length"]))
        mean, se = found["overall"]["mean"], found["overall"]["se"]
        false, power = (measured(mean[n], se[n]) for n in ("false_discovery", "power"))
        sentences = [
            (
                f"Minimum support {self.mining.minimum_support:g}, {self.mining.decisions}"
                f" decisions. Of the itemsets found, {false} % are false; of the frequent ones,"
                f" {power} % are found."
            ),
            (
                "support error: mean relative error of correctly found itemsets; missed and false"
                " are relative to the count of frequent itemsets (FRAPP 7). ± is the standard error"
                " over the runs."
            ),
        ]
        if found["modelled_from"] is not None:
            sentences.append(
                f"Itemsets of {found['modelled_from']} items or more come from a model of shorter"
                " ones, since no record reports them together."
            )
        yield Section(sentences=sentences)


_PERCENT = dict(zip(MEASURES, ("support_error", "false_negative", "false_positive"), strict=True))
"""The names of the errors in JSON, without the unit."""


def _as_json(row: dict[Hashable, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {"length": int(row["length"])}
    made |= {name: float(row[name]) for name in ("frequent", "found")}
    for measure, name in _PERCENT.items():
        made[f"{name}_pct"] = finite(row[measure])
        made[f"{name}_se"] = finite(row[f"{measure}_se"])
    return made


def _error(name: str) -> Callable[[Row], str]:
    return lambda row: measured(row[f"{name}_pct"], row[f"{name}_se"])
