"""Ma figure 2.3: a numeric variable grouped by MGAS, randomized and reconstructed."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.reproduce.data import ma_laws
from benchmarks.reproduce.engine import (
    Axes,
    Experiment,
    Figure,
    Finding,
    Result,
    Setting,
    accurate,
    as_theory_says,
    bars,
)
from pramana.setups.owner import SeededOwner
from pramana_core.discretize import Discretization, mgas
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.estimation.table_estimates import Estimates
from pramana_core.marginals.counts import Tensor
from pramana_core.pictures import plots as style

RECORDS = 100_000
KEEP = 0.3
GROUPS = 39

_SUPPORTS = (10.0, 16.0, 20.0, 24.0, 30.0)
_SAMPLES = 10
_Z = float(stats.norm.isf(0.025))


def run(setting: Setting) -> Result:
    """Group 100,000 samples, randomize their groups and estimate how many are in each."""
    values = ma_laws.triangle_sample(RECORDS, setting.rng("ma-2.3", "values"))
    groups = ma_laws.discretize(values)
    plan = ma_laws.triangle_plan(groups, KEEP)
    owner = SeededOwner.of("ma-2.3", setting.seed, RECORDS)
    reported = owner.report(plan, ma_laws.codes(groups, values))
    moment = EstimatedMarginals(reported, plan).marginal(["X"])
    likely = EstimatedMarginals(reported, plan, estimator="ml").marginal(["X"])
    setting.progress(0.3)
    truth = np.array(groups.counts, dtype=np.float64)
    table = _frame(groups, truth, moment, likely)
    supports = _supports(setting)
    findings = (
        _number(groups, supports),
        _requirements(groups),
        as_theory_says(moment.counts - truth, moment.covariance(population=False)),
        accurate("moment", moment.counts, truth),
        accurate("maximum-likelihood", likely.counts, truth),
        _same(table),
        _distance(groups, table),
    )
    return Result(
        {"groups": table, "supports": supports},
        findings,
        lambda figure: _draw(figure, groups, table),
        height=7.2,
        facts={"groups": groups.size},
    )


def _frame(
    groups: Discretization, truth: Tensor, moment: Estimates, likely: Estimates
) -> pd.DataFrame:
    ends = ma_laws.edges(groups)
    return pd.DataFrame(
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


def _supports(setting: Setting) -> pd.DataFrame:
    """Return how many groups MGAS makes of samples of narrower and wider triangles."""
    samples = 3 if setting.quick else _SAMPLES
    rows = []
    for support, index in setting.steps(product(_SUPPORTS, range(samples)), low=0.3):
        values = ma_laws.triangle_sample(RECORDS, setting.rng("ma-2.3", support, index), support)
        groups = mgas(
            values,
            minimum_count=ma_laws.MINIMUM_COUNT,
            granularity=ma_laws.GRANULARITY,
        )
        rows.append((support, index + 1, groups.size))
    return pd.DataFrame(rows, columns=["support", "sample", "groups"])


def _number(groups: Discretization, supports: pd.DataFrame) -> Finding:
    """39 must be possible: the paper's one sample is drawn again and again."""
    made = {
        support: supports.loc[supports["support"] == support, "groups"].to_numpy()
        for support in _SUPPORTS
    }
    chosen, narrow = made[ma_laws.SUPPORT], made[_SUPPORTS[0]]
    return Finding(
        chosen.min() <= GROUPS <= chosen.max(),
        f"{groups.size} groups; the paper has {GROUPS}. Samples of this density give"
        f" {chosen.min()} to {chosen.max()}. Its width was chosen for that: triangles on"
        f" [0, {_SUPPORTS[0]:g}] give {narrow.min()} to {narrow.max()}.",
    )


def _requirements(groups: Discretization) -> Finding:
    narrowest = min(ma_laws.widths(groups))
    met = min(groups.counts) >= ma_laws.MINIMUM_COUNT
    return Finding(
        met and narrowest >= ma_laws.GRANULARITY,
        f"Every group holds {min(groups.counts):,} records or more and is {narrowest:.3f} wide or"
        f" more ({ma_laws.MINIMUM_COUNT:,} and {ma_laws.GRANULARITY} were required).",
    )


def _same(table: pd.DataFrame) -> Finding:
    """Ma 2.4.2 (b): inside the parameter space the two estimates are one."""
    inside = bool((table["moment"] > 0).all())
    gap = float((table["moment"] - table["ml"]).abs().max())
    text = f"; the largest difference is {gap:.1e} records."
    if not inside:
        return Finding(None, f"Some moment estimates are not positive, so the two may differ{text}")
    return Finding(
        gap < 0.01 * table["moment_se"].min(),
        f"All moment estimates are positive, and the likelihood's are equal to them{text}",
    )


def _distance(groups: Discretization, table: pd.DataFrame) -> Finding:
    counts = (table[column].to_numpy() for column in ("true", "ml"))
    grouped, rebuilt = (ma_laws.l1_distance(groups, c) for c in counts)
    return Finding(
        None,
        f"The distance (integral of |f - f^|) is {grouped:.3f} after grouping alone and"
        f" {rebuilt:.3f} after randomization and reconstruction; the paper gives none.",
    )


def _draw(figure: Figure, groups: Discretization, table: pd.DataFrame) -> None:
    above, below = figure.subplots(2, 1, sharex=True)
    ends = ma_laws.edges(groups)
    fine = np.linspace(0, ma_laws.SUPPORT, 1201)
    for axis in (above, below):
        axis.plot(fine, ma_laws.density(fine), color=style.BLACK, label="density drawn from")
        axis.set_ylabel("density")
    grouped = ma_laws.heights(groups, table["true"].to_numpy())
    above.stairs(
        grouped, ends, fill=True, color="#d9d9d9", label=f"after MGAS, {groups.size} groups"
    )
    _reconstruction(below, groups, table)
    above.set_title("discretized")
    below.set(title="randomized and reconstructed", xlabel="x", xlim=(0, ma_laws.SUPPORT))
    top = 1.25 * float(max(grouped.max(), ma_laws.density(fine).max()))
    for axis in (above, below):
        axis.set_ylim(0, top)
        axis.legend(loc="upper center", ncols=3)


def _reconstruction(axis: Axes, groups: Discretization, table: pd.DataFrame) -> None:
    ends = ma_laws.edges(groups)
    rebuilt = ma_laws.heights(groups, table["ml"].to_numpy())
    axis.stairs(rebuilt, ends, color=style.RED, linewidth=1.8, label="maximum likelihood")
    per_record = 1 / (RECORDS * np.diff(ends))
    middle, heights = (ends[:-1] + ends[1:]) / 2, table["moment"] * per_record
    error = _Z * table["moment_se"] * per_record
    name = "moment estimate, 95 %"
    bars(axis, middle, heights, error, style.BLUE, "o", name, "none", markersize=3.5)


EXPERIMENT = Experiment(
    name="ma-2.3",
    title="A density grouped by MGAS, randomized and reconstructed",
    source="Ma (2006), figure 2.3",
    run=run,
    choices=(
        ma_laws.TRIANGLES,
        f"A sample's group is kept, not replaced, with probability {KEEP}, as 2.5 (2) says.",
    ),
)
