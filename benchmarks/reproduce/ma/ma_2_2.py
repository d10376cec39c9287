"""Ma figure 2.2: frequency counts of two five-category variables, estimated from their reports."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.reproduce.data import table_2_1
from benchmarks.reproduce.engine import (
    Experiment,
    Figure,
    Finding,
    Result,
    Setting,
    accurate,
    as_theory_says,
)
from pramana.setups.owner import SeededOwner, draw_cells
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.estimation.table_estimates import Estimates
from pramana_core.marginals.counts import Tensor, tabulate
from pramana_core.pictures import plots as style

RECORDS = 5000
P = 0.5

_LEVEL = 0.95


def run(setting: Setting) -> Result:
    """Randomize 5,000 records and estimate their 25 counts by moments and by likelihood."""
    codes = draw_cells(table_2_1.pmf(), table_2_1.NAMES, RECORDS, setting.rng("ma-2.2", "records"))
    truth = tabulate(list(codes.values()), (5, 5)).astype(np.float64)
    plan = table_2_1.multicategory(P)
    reported = SeededOwner.of("ma-2.2", setting.seed, RECORDS).report(plan, codes)
    moment = EstimatedMarginals(reported, plan).marginal(table_2_1.NAMES)
    likely = EstimatedMarginals(reported, plan, estimator="ml").marginal(table_2_1.NAMES)
    setting.progress(1.0)
    table = _frame(truth, moment, likely)
    findings = (
        _printed_sum(),
        as_theory_says(moment.counts - truth, moment.covariance(population=False)),
        _intervals(table),
        accurate("moment", moment.counts, truth),
        accurate("maximum-likelihood", likely.counts, truth),
        _negative(table),
    )
    return Result({"counts": table}, findings, lambda figure: _draw(figure, table), height=5.0)


def _frame(truth: Tensor, moment: Estimates, likely: Estimates) -> pd.DataFrame:
    first, second = np.indices(truth.shape) + 1
    return pd.DataFrame(
        {
            "category": np.arange(truth.size) + 1,
            "x1": first.ravel(),
            "x2": second.ravel(),
            "true": truth.ravel(),
            "moment": moment.counts.ravel(),
            "moment_se": moment.standard_error(population=False).ravel(),
            "ml": likely.counts.ravel(),
            "ml_se": likely.standard_error(population=False).ravel(),
        }
    )


def _printed_sum() -> Finding:
    """A joint distribution must sum to 1."""
    total = sum(map(sum, table_2_1.PRINTED), Fraction(0))
    last = sum((row[-1] for row in table_2_1.PRINTED), Fraction(0))
    return Finding(
        total == 1,
        f"The entries printed in table 2.1 sum to {total}. The other columns sum to 1/5, 2/5, 1/10"
        f" and 1/10, the last to {last}; the missing {1 - total} would make it"
        f" {last + 1 - total}.",
    )


def _intervals(table: pd.DataFrame) -> Finding:
    """The error bars, which the paper's figure lacks."""
    z = stats.norm.isf((1 - _LEVEL) / 2)
    inside = (table["moment"] - table["true"]).abs() <= z * table["moment_se"]
    fewest = stats.binom.ppf(0.0005, len(table), _LEVEL)
    return Finding(
        bool(inside.sum() >= fewest),
        f"{inside.sum()} of {len(table)} 95 % intervals of the moment estimate hold the true count;"
        f" their half-width is {z * table['moment_se'].mean():.0f} records on average. The paper"
        " draws none.",
    )


def _negative(table: pd.DataFrame) -> Finding:
    below = int((table["moment"] < 0).sum())
    return Finding(
        below > 0 and bool((table["ml"] >= 0).all()),
        f"The moment estimate can be negative, the likelihood's cannot: {below} of {len(table)}"
        f" moment estimates are below zero, the smallest {table['moment'].min():.0f};"
        f" {int((table['ml'] < 0).sum())} of the likelihood's are.",
    )


def _draw(figure: Figure, table: pd.DataFrame) -> None:
    axis = figure.subplots()
    at = table["category"].to_numpy()
    z = stats.norm.isf((1 - _LEVEL) / 2)
    axis.bar(at, table["true"], width=0.86, color="#d9d9d9", label="true count")
    for column, shift, colour, marker, name in (
        ("moment", -0.17, style.BLUE, "o", "moment estimate, 95 %"),
        ("ml", 0.17, style.RED, "s", "maximum likelihood, 95 %"),
    ):
        spread = z * table[f"{column}_se"].to_numpy()
        # No likelihood estimate is negative, and neither is its interval.
        below = np.minimum(spread, table[column]) if column == "ml" else spread
        axis.errorbar(
            at + shift,
            table[column],
            yerr=np.vstack([below, spread]),
            fmt=marker,
            color=colour,
            markersize=4.5,
            elinewidth=1.3,
            label=name,
        )
    axis.axhline(0, color=style.BLACK, linewidth=0.8)
    style.no_grid(axis, "x")
    axis.set(
        xticks=at,
        xlim=(0.3, len(at) + 0.7),
        xlabel="joint category, 5 (x₁ − 1) + x₂",
        ylabel=f"records of {RECORDS:,}",
    )
    axis.legend(loc="upper right")


EXPERIMENT = Experiment(
    name="ma-2.2",
    title="Frequency counts estimated from randomized records, p = 0.5",
    source="Ma (2006), figure 2.2 and table 2.1",
    run=run,
    choices=(table_2_1.RESCALED,),
)
