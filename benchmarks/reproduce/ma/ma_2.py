"""Ma chapter 2: counts from reports, and what categories and groups of them change.

Also here:

* Ma figure 2.2: frequency counts of two five-category variables, estimated from their reports.
* Ma 2.2: what more categories, and groups of them, do to variances and to privacy.
* Ma figure 2.3: a numeric variable grouped by MGAS, randomized and reconstructed."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.reproduce import data
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
    covariance,
)
from pramana.setups import SeededOwner, draw_cells
from pramana_core.channels import Grouped, Symmetric, Transition
from pramana_core.discretize import Discretization, mgas
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.estimation.table_estimates import Estimates
from pramana_core.marginals.counts import Tensor, tabulate
from pramana_core.pictures import plots as style
from pramana_core.privacy import conditional_entropy, gamma_within_groups, k_anonymity

# Ma figure 2.2: frequency counts of two five-category variables, estimated from their reports.

RECORDS = 5000
P = 0.5

_LEVEL = 0.95


def run_2_2(setting: Setting) -> Result:
    """Randomize 5,000 records and estimate their 25 counts by moments and by likelihood."""
    codes = draw_cells(data.pmf(), data.NAMES, RECORDS, setting.rng("ma-2.2", "records"))
    truth = tabulate(list(codes.values()), (5, 5)).astype(np.float64)
    plan = data.multicategory(P)
    reported = SeededOwner.of("ma-2.2", setting.seed, RECORDS).report(plan, codes)
    moment = EstimatedMarginals(reported, plan).marginal(data.NAMES)
    likely = EstimatedMarginals(reported, plan, estimator="ml").marginal(data.NAMES)
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
    return Result(
        {"counts": table}, findings, lambda figure: _draw_counts(figure, table), height=5.0
    )


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
    total = sum(map(sum, data.PRINTED), Fraction(0))
    last = sum((row[-1] for row in data.PRINTED), Fraction(0))
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


def _draw_counts(figure: Figure, table: pd.DataFrame) -> None:
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


# Ma 2.2: what more categories, and groups of them, do to variances and to privacy.

GROUPS_P, GAMMA = 0.3, 19.0
SIZES = (2, 3, 4, 6, 8, 12, 16)

GROUPED, WHOLE = 6, 3
"""The categories that are grouped and how many a group has, as in figure 3.1."""

SAME_P, SAME_GAMMA = f"p = {GROUPS_P:g}", f"gamma = {GAMMA:g}"


def run_grouping(setting: Setting) -> Result:
    """Compute variances, entropies and K_p of channels with equally frequent categories."""
    table = pd.DataFrame(
        [_row(kind, size, channel(kind, size)) for kind in (SAME_P, SAME_GAMMA) for size in SIZES]
    )
    groups = pd.DataFrame(
        [
            _row(kind, GROUPED, made) | {"grouped": label}
            for kind in (SAME_P, SAME_GAMMA)
            for label, made in (("no", channel(kind, GROUPED)), ("yes", grouped(kind)))
        ]
    )
    setting.progress(1.0)
    return Result(
        {"sizes": table, "groups": groups},
        (
            _randomization(table),
            *(more_categories(table, kind) for kind in (SAME_P, SAME_GAMMA)),
            *(less_variance(groups, kind) for kind in (SAME_P, SAME_GAMMA)),
            _anonymity(groups),
            _amplification(groups),
        ),
        lambda figure: _draw_variances(figure, table, groups),
    )


def channel(kind: str, size: int) -> Transition:
    """Return multi-category randomization with the stated p, or of the stated gamma."""
    if kind == SAME_P:
        return Symmetric.from_probability(size, GROUPS_P)
    return Symmetric.from_gamma(size, GAMMA)


def grouped(kind: str) -> Transition:
    """Return two groups of three with the same p, or of the same gamma within each group."""
    groups = tuple(tuple(range(k, k + WHOLE)) for k in range(0, GROUPED, WHOLE))
    within = GROUPS_P if kind == SAME_P else (WHOLE - 1) / (WHOLE - 1 + GAMMA)
    return Grouped.from_probability(groups, within)


def _row(kind: str, size: int, made: Transition) -> dict[str, float | str]:
    share = np.full(size, 1 / size)
    return {
        "kind": kind,
        "categories": size,
        # Given the records and times N: the sum over the categories of the shares' variances.
        "variance": float(np.diag(covariance(share, [made.matrix()])).sum()),
        "entropy_bits": conditional_entropy(made, share),
        "k_p": k_anonymity(made).categories,
        "gamma_within": gamma_within_groups(made),
    }


def _randomization(table: pd.DataFrame) -> Finding:
    grows = [bool((np.diff(rows["entropy_bits"]) > 0).all()) for _, rows in table.groupby("kind")]
    own = table[table["kind"] == SAME_P]["entropy_bits"]
    return Finding(
        all(grows),
        "More categories are more randomization: the conditional entropy grows with their number"
        f" K, from {own.iloc[0]:.2f} bits at K = {SIZES[0]} to {own.iloc[-1]:.2f} at K ="
        f" {SIZES[-1]} with {SAME_P}, and with {SAME_GAMMA}, too.",
    )


def more_categories(table: pd.DataFrame, kind: str) -> Finding:
    """Check that the estimates' variances grow with the number of categories."""
    own = table[table["kind"] == kind]["variance"]
    return Finding(
        bool((np.diff(own) > 0).all()),
        f"The variances are larger with more categories, the paper says. With {kind} the sum of the"
        f" shares' variances, times N, goes from {own.iloc[0]:.3g} at K = {SIZES[0]} to"
        f" {own.iloc[-1]:.3g} at K = {SIZES[-1]}.",
    )


def less_variance(groups: pd.DataFrame, kind: str) -> Finding:
    """Check that grouping, the paper's remedy, makes the variances smaller."""
    own = groups[groups["kind"] == kind].set_index("grouped")["variance"]
    return Finding(
        bool(own["yes"] < own["no"]),
        "Grouping is to make them smaller. With"
        f" {kind}{' within the groups' if kind == SAME_GAMMA else ''} the sum is {own['no']:.3g}"
        f" for {GROUPED} categories and {own['yes']:.3g} for groups of {WHOLE}.",
    )


def _anonymity(groups: pd.DataFrame) -> Finding:
    found = groups[groups["kind"] == SAME_P].set_index("grouped")["k_p"]
    return Finding(
        bool(found["yes"] < found["no"]),
        f"Grouping lowers K_p from {found['no']:.0f} to {found['yes']:.0f}, worse by that measure.",
    )


def _amplification(groups: pd.DataFrame) -> Finding:
    found = groups[groups["kind"] == SAME_P].set_index("grouped")["gamma_within"]
    return Finding(
        bool(found["yes"] < found["no"]),
        f"It lowers the amplification within a group from {found['no']:.3g} to {found['yes']:.3g}"
        " (over all categories it is infinite, see ma-3.1).",
    )


def _draw_variances(figure: Figure, table: pd.DataFrame, groups: pd.DataFrame) -> None:
    axes = figure.subplots(1, 2, sharey=True)
    for axis, kind, colour in zip(axes, (SAME_P, SAME_GAMMA), (style.BLUE, style.RED), strict=True):
        rows = table[table["kind"] == kind]
        style.curve(axis, rows["categories"], rows["variance"], colour, "o", "no groups")
        own = groups[(groups["kind"] == kind) & (groups["grouped"] == "yes")]
        axis.plot(own["categories"], own["variance"], "*", color=style.BLACK, markersize=12,
                  label=f"two groups of {WHOLE}")  # fmt: skip
        axis.set(title=f"the same {kind}", xlabel="number of categories K")
        axis.legend()
    axes[0].set(ylim=(0, None), ylabel="sum of the shares' variances, times N")


GROUPING = Experiment(
    name="ma-2.2-grouping",
    title="Variance and privacy against the number of categories, and with groups",
    source="Ma (2006), section 2.2",
    run=run_grouping,
    choices=(
        (
            "The paper says in words that more categories are more randomization and larger"
            " variances, and not whether p or the amplification is kept; here both, with equally"
            " frequent categories."
        ),
    ),
)


SAMPLED = 100_000
KEEP = 0.3
GROUPS = 39

_SUPPORTS = (10.0, 16.0, 20.0, 24.0, 30.0)
_SAMPLES = 10
_Z = float(stats.norm.isf(0.025))


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
    table = _groups_frame(groups, truth, moment, likely)
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


def _groups_frame(
    groups: Discretization, truth: Tensor, moment: Estimates, likely: Estimates
) -> pd.DataFrame:
    ends = data.edges(groups)
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
        values = data.triangle_sample(SAMPLED, setting.rng("ma-2.3", support, index), support)
        groups = mgas(
            values,
            minimum_count=data.MINIMUM_COUNT,
            granularity=data.GRANULARITY,
        )
        rows.append((support, index + 1, groups.size))
    return pd.DataFrame(rows, columns=["support", "sample", "groups"])


def _number(groups: Discretization, supports: pd.DataFrame) -> Finding:
    """39 must be possible: the paper's one sample is drawn again and again."""
    made = {
        support: supports.loc[supports["support"] == support, "groups"].to_numpy()
        for support in _SUPPORTS
    }
    chosen, narrow = made[data.SUPPORT], made[_SUPPORTS[0]]
    return Finding(
        chosen.min() <= GROUPS <= chosen.max(),
        f"{groups.size} groups; the paper has {GROUPS}. Samples of this density give"
        f" {chosen.min()} to {chosen.max()}. Its width was chosen for that: triangles on"
        f" [0, {_SUPPORTS[0]:g}] give {narrow.min()} to {narrow.max()}.",
    )


def _requirements(groups: Discretization) -> Finding:
    narrowest = min(data.widths(groups))
    met = min(groups.counts) >= data.MINIMUM_COUNT
    return Finding(
        met and narrowest >= data.GRANULARITY,
        f"Every group holds {min(groups.counts):,} records or more and is {narrowest:.3f} wide or"
        f" more ({data.MINIMUM_COUNT:,} and {data.GRANULARITY} were required).",
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
    grouped, rebuilt = (data.l1_distance(groups, c) for c in counts)
    return Finding(
        None,
        f"The distance (integral of |f - f^|) is {grouped:.3f} after grouping alone and"
        f" {rebuilt:.3f} after randomization and reconstruction; the paper gives none.",
    )


def _draw(figure: Figure, groups: Discretization, table: pd.DataFrame) -> None:
    above, below = figure.subplots(2, 1, sharex=True)
    ends = data.edges(groups)
    fine = np.linspace(0, data.SUPPORT, 1201)
    for axis in (above, below):
        axis.plot(fine, data.density(fine), color=style.BLACK, label="density drawn from")
        axis.set_ylabel("density")
    grouped = data.heights(groups, table["true"].to_numpy())
    above.stairs(
        grouped, ends, fill=True, color="#d9d9d9", label=f"after MGAS, {groups.size} groups"
    )
    _reconstruction(below, groups, table)
    above.set_title("discretized")
    below.set(title="randomized and reconstructed", xlabel="x", xlim=(0, data.SUPPORT))
    top = 1.25 * float(max(grouped.max(), data.density(fine).max()))
    for axis in (above, below):
        axis.set_ylim(0, top)
        axis.legend(loc="upper center", ncols=3)


def _reconstruction(axis: Axes, groups: Discretization, table: pd.DataFrame) -> None:
    ends = data.edges(groups)
    rebuilt = data.heights(groups, table["ml"].to_numpy())
    axis.stairs(rebuilt, ends, color=style.RED, linewidth=1.8, label="maximum likelihood")
    per_record = 1 / (SAMPLED * np.diff(ends))
    middle, heights = (ends[:-1] + ends[1:]) / 2, table["moment"] * per_record
    error = _Z * table["moment_se"] * per_record
    name = "moment estimate, 95 %"
    bars(axis, middle, heights, error, style.BLUE, "o", name, "none", markersize=3.5)


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
