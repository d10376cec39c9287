"""Ma chapter 2: estimated counts of categories (figure 2.2) and of groups of numbers (2.3)."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.reproduce import distributions as given
from benchmarks.reproduce.engine import Claim, Figure, Result, Setting, accurate, bars
from pramana.setups import SeededOwner, draw_cells
from pramana_core.discretize import Discretization
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.kernels.counting import count_tables
from pramana_core.marginals.counts import ReportedCounts, Tensor
from pramana_core.pictures import plots as style
from pramana_core.plan import Plan

RECORDS = 5000
P = 0.5
_Z = float(stats.norm.isf(0.025))


def estimated(reported: ReportedCounts, plan: Plan) -> dict[str, Tensor]:
    """Estimate counts by moments and by likelihood; return both with their standard errors."""
    columns = {}
    for name, estimator in (("moment", "moment"), ("ml", "ml")):
        table = EstimatedMarginals(reported, plan, estimator=estimator).marginal(plan.domain.names)  # type: ignore[arg-type]
        columns[name] = table.counts.ravel()
        columns[f"{name}_se"] = table.standard_error(population=False).ravel()
    return columns


def run_2_2(setting: Setting) -> Result:
    """Randomize 5,000 records and estimate their 25 counts by moments and by likelihood."""
    codes = draw_cells(given.pmf(), given.NAMES, RECORDS, setting.rng("ma-2.2", "records"))
    truth = count_tables(list(codes.values()), (5, 5), [(0, 1)])[0].astype(np.float64)
    plan = given.multicategory(P)
    reported = SeededOwner.of("ma-2.2", setting.seed, RECORDS).report(plan, codes)
    setting.progress(1.0)
    first, second = np.indices(truth.shape) + 1
    columns = {"x1": first.ravel(), "x2": second.ravel(), "true": truth.ravel()}
    table = pd.DataFrame(
        {"category": np.arange(truth.size) + 1, **columns, **estimated(reported, plan)}
    )
    return Result({"counts": table}, _counts_claims(table), _draw_counts, 5.0)


def _counts_claims(table: pd.DataFrame) -> Iterator[Claim]:
    total = sum(map(sum, given.PRINTED), Fraction(0))
    last = sum((row[-1] for row in given.PRINTED), Fraction(0))
    yield Claim(
        f"The entries printed in table 2.1 sum to {total}. The other columns sum to 1/5, 2/5,"
        f" 1/10 and 1/10, the last to {last}; the missing {1 - total} would make it"
        f" {last + 1 - total}.",
        total == 1,
    )
    yield accurate("moment", table["moment"].to_numpy(), table["true"].to_numpy())
    yield accurate("maximum-likelihood", table["ml"].to_numpy(), table["true"].to_numpy())
    below = int((table["moment"] < 0).sum())
    yield Claim(
        f"The moment estimate can be negative, the likelihood's cannot: {below} of"
        f" {len(table)} moment estimates are below zero, the smallest"
        f" {table['moment'].min():.0f}; {int((table['ml'] < 0).sum())} of the likelihood's"
        " are.",
        below > 0 and (table["ml"] >= 0).all(),
    )


def _draw_counts(figure: Figure, table: pd.DataFrame) -> None:
    axis = figure.subplots()
    at = table["category"].to_numpy()
    axis.bar(at, table["true"], width=0.86, color="#d9d9d9", label="true count")
    for column, shift, look, name in (
        ("moment", -0.17, (style.BLUE, "o", "none"), "moment estimate, 95 %"),
        ("ml", 0.17, (style.RED, "s", "none"), "maximum likelihood, 95 %"),
    ):
        spread = _Z * table[f"{column}_se"].to_numpy()
        # Likelihood estimates and their intervals are never negative.
        below = np.minimum(spread, table[column]) if column == "ml" else spread
        bars(
            axis, at + shift, table[column], np.vstack([below, spread]), look, name, markersize=4.5
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


SAMPLED = 100_000
KEEP = 0.3
GROUPS = 39
"""The paper's count of groups; samples of our density give up to two more or fewer."""


def run_2_3(setting: Setting) -> Result:
    """Group 100,000 samples, randomize their groups and estimate the count in each."""
    values = given.triangle_sample(SAMPLED, setting.rng("ma-2.3", "values"))
    groups = given.discretize(values)
    plan = given.triangle_plan(groups, KEEP)
    owner = SeededOwner.of("ma-2.3", setting.seed, SAMPLED)
    columns = estimated(owner.report(plan, given.codes(groups, values)), plan)
    del columns["ml_se"]
    setting.progress(1.0)
    ends = given.edges(groups)
    table = pd.DataFrame(
        {
            "low": ends[:-1],
            "high": ends[1:],
            "mean": groups.representatives,
            "true": np.bincount(groups.codes(values)).astype(np.float64),
            **columns,
        }
    )
    return Result(
        {"groups": table},
        _density_claims(groups, table),
        lambda figure, *_: _draw_density(figure, groups, table),
        height=7.2,
        facts={"groups": groups.size},
    )


def _density_claims(groups: Discretization, table: pd.DataFrame) -> Iterator[Claim]:
    yield Claim(
        f"{groups.size} groups; the paper has {GROUPS}, for which the density's width was chosen"
        " (we call two more or fewer the same).",
        abs(groups.size - GROUPS) <= 2,
    )
    yield accurate("moment", table["moment"].to_numpy(), table["true"].to_numpy())
    yield accurate("maximum-likelihood", table["ml"].to_numpy(), table["true"].to_numpy())
    gap = float((table["moment"] - table["ml"]).abs().max())
    yield Claim(
        "Where all moment estimates are positive the likelihood's are equal to them; the"
        f" largest difference is {gap:.1e} records.",
        # Ma 2.4.2 (b): inside the parameter space the two estimates are equal.
        gap < 0.01 * table["moment_se"].min() if (table["moment"] > 0).all() else None,
    )


def _draw_density(figure: Figure, groups: Discretization, table: pd.DataFrame) -> None:
    above, below = figure.subplots(2, 1, sharex=True)
    ends = given.edges(groups)
    fine = np.linspace(0, given.SUPPORT, 1201)
    grouped, rebuilt = (given.heights(groups, table[c].to_numpy()) for c in ("true", "ml"))
    per_record = 1 / (SAMPLED * np.diff(ends))
    above.stairs(
        grouped, ends, fill=True, color="#d9d9d9", label=f"after MGAS, {groups.size} groups"
    )
    below.stairs(rebuilt, ends, color=style.RED, linewidth=1.8, label="maximum likelihood")
    heights, spread = table["moment"] * per_record, _Z * table["moment_se"] * per_record
    look = (style.BLUE, "o", "none")
    bars(below, ends[:-1] + np.diff(ends) / 2, heights, spread, look, "moment estimate, 95 %",
         markersize=3.5)  # fmt: skip
    above.set_title("discretized")
    below.set(title="randomized and reconstructed", xlabel="x", xlim=(0, given.SUPPORT))
    top = 1.25 * float(max(grouped.max(), given.density(fine).max()))
    for axis in (above, below):
        axis.plot(fine, given.density(fine), color=style.BLACK, label="density drawn from")
        axis.set(ylim=(0, top), ylabel="density")
        axis.legend(loc="upper center", ncols=3)
