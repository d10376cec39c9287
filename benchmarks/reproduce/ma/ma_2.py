"""Ma chapter 2: counts of categories (figure 2.2) and of groups of numbers (2.3) from reports."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.reproduce import data
from benchmarks.reproduce.engine import (
    Experiment,
    Figure,
    Result,
    Setting,
    accurate,
    as_theory_says,
    bars,
    claim,
)
from pramana.setups import SeededOwner, draw_cells
from pramana_core.discretize import Discretization, mgas
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.kernels.counting import count_tables
from pramana_core.pictures import plots as style

RECORDS = 5000
P = 0.5
_Z = float(stats.norm.isf(0.025))


def run_2_2(setting: Setting) -> Result:
    """Randomize 5,000 records and estimate their 25 counts by moments and by likelihood."""
    codes = draw_cells(data.pmf(), data.NAMES, RECORDS, setting.rng("ma-2.2", "records"))
    truth = count_tables(list(codes.values()), (5, 5), [(0, 1)])[0].astype(np.float64)
    plan = data.multicategory(P)
    reported = SeededOwner.of("ma-2.2", setting.seed, RECORDS).report(plan, codes)
    moment = EstimatedMarginals(reported, plan).marginal(data.NAMES)
    likely = EstimatedMarginals(reported, plan, estimator="ml").marginal(data.NAMES)
    setting.progress(1.0)
    first, second = np.indices(truth.shape) + 1
    table = pd.DataFrame(
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
    total = sum(map(sum, data.PRINTED), Fraction(0))
    last = sum((row[-1] for row in data.PRINTED), Fraction(0))
    inside = int(((table["moment"] - table["true"]).abs() <= _Z * table["moment_se"]).sum())
    below = int((table["moment"] < 0).sum())
    findings = (
        claim(
            f"The entries printed in table 2.1 sum to {total}. The other columns sum to 1/5, 2/5,"
            f" 1/10 and 1/10, the last to {last}; the missing {1 - total} would make it"
            f" {last + 1 - total}.",
            total == 1,
        ),
        as_theory_says(moment.counts - truth, moment.covariance(population=False)),
        claim(
            f"{inside} of {len(table)} 95 % intervals of the moment estimate hold the true count;"
            f" their half-width is {_Z * table['moment_se'].mean():.0f} records on average. The"
            " paper draws none.",
            inside >= stats.binom.ppf(0.0005, len(table), 0.95),
        ),
        accurate("moment", moment.counts, truth),
        accurate("maximum-likelihood", likely.counts, truth),
        claim(
            f"The moment estimate can be negative, the likelihood's cannot: {below} of"
            f" {len(table)} moment estimates are below zero, the smallest"
            f" {table['moment'].min():.0f}; {int((table['ml'] < 0).sum())} of the likelihood's"
            " are.",
            below > 0 and (table["ml"] >= 0).all(),
        ),
    )
    return Result(
        {"counts": table}, findings, lambda figure: _draw_counts(figure, table), height=5.0
    )


def _draw_counts(figure: Figure, table: pd.DataFrame) -> None:
    axis = figure.subplots()
    at = table["category"].to_numpy()
    axis.bar(at, table["true"], width=0.86, color="#d9d9d9", label="true count")
    for column, shift, colour, marker, name in (
        ("moment", -0.17, style.BLUE, "o", "moment estimate, 95 %"),
        ("ml", 0.17, style.RED, "s", "maximum likelihood, 95 %"),
    ):
        spread = _Z * table[f"{column}_se"].to_numpy()
        # No likelihood estimate is negative, and neither is its interval.
        below = np.minimum(spread, table[column]) if column == "ml" else spread
        both = np.vstack([below, spread])
        bars(axis, at + shift, table[column], both, colour, marker, name, "none", markersize=4.5)
    axis.axhline(0, color=style.BLACK, linewidth=0.8)
    style.no_grid(axis, "x")
    axis.set(
        xticks=at,
        xlim=(0.3, len(at) + 0.7),
        xlabel="joint category, 5 (x₁ − 1) + x₂",
        ylabel=f"records of {RECORDS:,}",
    )
    axis.legend(loc="upper right")


MA_2_2 = Experiment(
    name="ma-2.2",
    title="Frequency counts estimated from randomized records, p = 0.5",
    source="Ma (2006), figure 2.2 and table 2.1",
    run=run_2_2,
    choices=(data.RESCALED,),
)


SAMPLED = 100_000
KEEP = 0.3
GROUPS = 39

_SUPPORTS = (10.0, 16.0, 20.0, 24.0, 30.0)
_SAMPLES = 10


def run_2_3(setting: Setting) -> Result:
    """Group 100,000 samples, randomize their groups and estimate how many are in each."""
    values = data.triangle_sample(SAMPLED, setting.rng("ma-2.3", "values"))
    groups = data.discretize(values)
    plan = data.triangle_plan(groups, KEEP)
    owner = SeededOwner.of("ma-2.3", setting.seed, SAMPLED)
    reported = owner.report(plan, data.codes(groups, values))
    moment = EstimatedMarginals(reported, plan).marginal(["X"])
    likely = EstimatedMarginals(reported, plan, estimator="ml").marginal(["X"])
    setting.progress(0.3)
    truth = np.array(groups.counts, dtype=np.float64)
    ends = data.edges(groups)
    table = pd.DataFrame(
        {
            "low": ends[:-1],
            "high": ends[1:],
            "mean": groups.representatives,
            "true": truth,
            "moment": moment.counts,
            "moment_se": moment.standard_error(population=False),
            "ml": likely.counts,
        }
    )
    supports = _supports(setting)
    made = supports.groupby("support")["groups"].agg(["min", "max"])
    (least, most), (few, many) = (list(made.loc[s]) for s in (data.SUPPORT, _SUPPORTS[0]))
    narrowest = min(data.widths(groups))
    gap = float((table["moment"] - table["ml"]).abs().max())
    # Ma 2.4.2 (b): inside the parameter space the two estimates are one.
    same = gap < 0.01 * table["moment_se"].min() if (table["moment"] > 0).all() else None
    grouped, rebuilt = (data.l1_distance(groups, table[c].to_numpy()) for c in ("true", "ml"))
    findings = (
        claim(
            f"{groups.size} groups; the paper has {GROUPS}. Samples of this density give {least} to"
            f" {most}. Its width was chosen for that: triangles on [0, {_SUPPORTS[0]:g}] give"
            f" {few} to {many}.",
            least <= GROUPS <= most,
        ),
        claim(
            f"Every group holds {min(groups.counts):,} records or more and is {narrowest:.3f} wide"
            f" or more ({data.MINIMUM_COUNT:,} and {data.GRANULARITY} were required).",
            min(groups.counts) >= data.MINIMUM_COUNT and narrowest >= data.GRANULARITY,
        ),
        as_theory_says(moment.counts - truth, moment.covariance(population=False)),
        accurate("moment", moment.counts, truth),
        accurate("maximum-likelihood", likely.counts, truth),
        claim(
            "Where all moment estimates are positive the likelihood's are equal to them; the"
            f" largest difference is {gap:.1e} records.",
            same,
        ),
        claim(
            f"The distance (integral of |f - f^|) is {grouped:.3f} after grouping alone and"
            f" {rebuilt:.3f} after randomization and reconstruction; the paper gives none."
        ),
    )
    return Result(
        {"groups": table, "supports": supports},
        findings,
        lambda figure: _draw_density(figure, groups, table),
        height=7.2,
        facts={"groups": groups.size},
    )


def _supports(setting: Setting) -> pd.DataFrame:
    """Return how many groups MGAS makes of samples of narrower and wider triangles."""
    samples = 3 if setting.quick else _SAMPLES
    rows = []
    for support, index in setting.steps(product(_SUPPORTS, range(samples)), low=0.3):
        values = data.triangle_sample(SAMPLED, setting.rng("ma-2.3", support, index), support)
        groups = mgas(values, minimum_count=data.MINIMUM_COUNT, granularity=data.GRANULARITY)
        rows.append((support, index + 1, groups.size))
    return pd.DataFrame(rows, columns=["support", "sample", "groups"])


def _draw_density(figure: Figure, groups: Discretization, table: pd.DataFrame) -> None:
    above, below = figure.subplots(2, 1, sharex=True)
    ends = data.edges(groups)
    fine = np.linspace(0, data.SUPPORT, 1201)
    grouped, rebuilt = (data.heights(groups, table[c].to_numpy()) for c in ("true", "ml"))
    per_record = 1 / (SAMPLED * np.diff(ends))
    above.stairs(
        grouped, ends, fill=True, color="#d9d9d9", label=f"after MGAS, {groups.size} groups"
    )
    below.stairs(rebuilt, ends, color=style.RED, linewidth=1.8, label="maximum likelihood")
    bars(
        below,
        (ends[:-1] + ends[1:]) / 2,
        table["moment"] * per_record,
        _Z * table["moment_se"] * per_record,
        style.BLUE,
        "o",
        "moment estimate, 95 %",
        "none",
        markersize=3.5,
    )
    above.set_title("discretized")
    below.set(title="randomized and reconstructed", xlabel="x", xlim=(0, data.SUPPORT))
    top = 1.25 * float(max(grouped.max(), data.density(fine).max()))
    for axis in (above, below):
        axis.plot(fine, data.density(fine), color=style.BLACK, label="density drawn from")
        axis.set(ylim=(0, top), ylabel="density")
        axis.legend(loc="upper center", ncols=3)


MA_2_3 = Experiment(
    name="ma-2.3",
    title="A density grouped by MGAS, randomized and reconstructed",
    source="Ma (2006), figure 2.3",
    run=run_2_3,
    choices=(
        data.TRIANGLES,
        f"A sample's group is kept, not replaced, with probability {KEEP}, as 2.5 (2) says.",
    ),
)
