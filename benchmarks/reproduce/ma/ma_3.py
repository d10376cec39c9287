"""Ma chapter 3: the information in a report about a person, and the cost of randomization.

Entropy (figure 3.1), beliefs (3.2), odds ratios (3.3), and accuracy as privacy and the count of
records vary (3.4).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.reproduce import distributions as given
from benchmarks.reproduce.engine import Axes, Claim, Figure, Result, Setting, curves
from pramana.setups import SeededOwner, draw_cells, numbered
from pramana_core.channels import Grouped, Identity, Symmetric, Transition
from pramana_core.estimation.axes import Stratum
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.estimation.likelihood import maximize
from pramana_core.kernels.counting import count_tables
from pramana_core.marginals.counts import ReportedCounts, Tensor
from pramana_core.pictures import plots as style
from pramana_core.plan import Block, Plan
from pramana_core.privacy import Amplification, conditional_entropy, gamma, gamma_within_groups

GROUPS = ((0, 1, 2), (3, 4, 5))
SCHEMES = ("binary", "six categories", "two groups of three")


def channel(scheme: str, p: float) -> Transition:
    """Return the channel of a scheme that replaces a category with probability `p`."""
    if scheme == "two groups of three":
        return Grouped.from_probability(GROUPS, p)
    return Symmetric.from_probability(2 if scheme == "binary" else 6, p)


def run_3_1(setting: Setting) -> Result:
    """Compute H(X | X~) under a uniform prior, and the amplification, of three schemes."""
    rows = [
        (scheme, p, conditional_entropy(made))
        for scheme in SCHEMES
        for p in np.linspace(0, 1, 51 if setting.quick else 201).tolist()
        for made in [channel(scheme, p)]
    ]
    table = pd.DataFrame(rows, columns=["scheme", "p", "entropy_bits"])
    return Result({"entropy": table}, _entropy_claims(table), _draw_entropy)


def _entropy_claims(table: pd.DataFrame) -> Iterator[Claim]:
    wide = table.pivot_table(index="p", columns="scheme", values="entropy_bits")
    lost = (wide["six categories"] - wide["two groups of three"])[wide.index > 0]
    yield Claim(
        "Grouping the categories keeps less privacy on average: the entropy is lower at every"
        f" p > 0, by up to {lost.max():.2f} bits.",
        (lost > 0).all(),
    )
    plain, within, whole = np.array(
        [
            (gamma(channel("six categories", p)), gamma_within_groups(grouped), gamma(grouped))
            for p in np.linspace(0.02, 0.66, 33).tolist()
            for grouped in [channel("two groups of three", p)]
        ]
    ).T
    yield Claim(
        "Within a group the amplification is 2 (1 - p) / p, below the 5 (1 - p) / p without"
        " groups, at every p up to 2/3.",
        (within < plain).all(),
    )
    yield Claim(
        "The paper concludes that grouping is better in the worst case. By its own definition,"
        " over all six categories, the amplification is lower with groups at"
        f" {int((whole < plain).sum())} of {len(plain)} values of p: the group is reported"
        f" truthfully, so it is {'infinite' if math.isinf(whole.max()) else 'finite'}.",
        (whole < plain).all(),
    )


def _draw_entropy(figure: Figure, table: pd.DataFrame) -> None:
    axes = figure.subplots(1, 2)
    panels = ((SCHEMES[:1], "(a) binary"), (SCHEMES[1:], "(b) six categories"))
    for axis, (schemes, title) in zip(axes, panels, strict=True):
        looks = {s: (c, "", d) for s, c, d in zip(schemes, (style.BLUE, style.RED), ("-", "--"))}  # noqa: B905
        curves(axis, table, "p", "entropy_bits", "scheme", looks=looks)
        axis.set(title=title, xlim=(0, 1), ylim=(0, None))
        axis.set_xlabel("probability p that a category is replaced")
    axes[0].set_ylabel("conditional entropy H(X | X̃), bits")
    axes[1].legend(loc="lower right")


GAMMAS = (1.0, 2.0, 5.0, 10.0, 19.0, 50.0, 100.0)


def run_3_2(setting: Setting) -> Result:
    """Tabulate the bound rho_2* over rho_1, and compare it with binary channels."""
    priors = np.linspace(0.005, 0.995, 100 if setting.quick else 199)
    table = pd.DataFrame(
        {"gamma": g, "rho_1": prior, "rho_2": Amplification.of_gamma(g).grown(prior)}
        for g in GAMMAS
        for prior in priors.tolist()
    )
    gap = 0.0
    for g, prior, bound in table[table["gamma"] > 1].to_numpy().tolist():
        joint = np.array([[prior], [1 - prior]]) * Symmetric.from_gamma(2, g).matrix()
        worst = (joint[0] / joint.sum(axis=0)).max()
        gap = max(gap, abs(float(worst) / bound - 1))
    reached = Amplification.of_gamma(19.0).grown(0.05)
    findings = (
        Claim(
            "Binary symmetric randomization of the same gamma reaches the bound at every prior"
            f" (within {gap:.1e}), so the bound cannot be lowered.",
            gap < 1e-6,
        ),
        Claim(
            f"gamma = 19 raises a belief of 5 % to {100 * reached:.0f} %, the pair (5 %, 50 %) from"
            " which FRAPP takes its gamma.",
            abs(reached - 0.5) < 1e-12,
        ),
    )
    return Result({"bound": table}, findings, _draw_bound, height=5.4)


def _draw_bound(figure: Figure, table: pd.DataFrame) -> None:
    axis = figure.subplots()
    shades = style.shades(len(GAMMAS))
    looks = {g: (c, "", "--" if g == 1 else "-") for g, c in zip(GAMMAS, shades, strict=True)}
    curves(axis, table, "rho_1", "rho_2", "gamma", looks=looks, label="γ = {:g}")
    axis.set(
        xlim=(0, 1), ylim=(0, 1.01), xlabel="prior belief ρ₁", ylabel="largest posterior belief ρ₂*"
    )
    axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


RECORDS = 10_000
RUNS = 2_000
P = 0.4
LEVEL = 0.05
"""The level of the test of independence."""

_NAMES = ("X1", "X2")
_FAIR = np.full((2, 2), 0.25)
_DELTA_ERROR = 0.1
"""The allowed relative error of the delta method, a first-order approximation."""


def run_3_3(setting: Setting) -> Result:
    """Draw, randomize and estimate 2,000 times; every run has new records and draw keys."""
    runs = RUNS // 10 if setting.quick else RUNS
    plan = Plan(tuple(Block((numbered(n, 2),), Symmetric.from_probability(2, P)) for n in _NAMES))
    owner = SeededOwner.of("ma-3.3", setting.seed, RECORDS)
    rng = setting.rng("ma-3.3", "records")
    clean, estimated = np.empty((runs, 2, 2)), np.empty((runs, 2, 2))
    for index in setting.steps(range(runs)):
        codes = draw_cells(_FAIR, _NAMES, RECORDS, rng)
        reported = owner.report(plan, codes, index)
        estimate = EstimatedMarginals(reported, plan).marginal(_NAMES)
        clean[index] = count_tables(list(codes.values()), (2, 2), [(0, 1)])[0]
        estimated[index] = estimate.counts
    table = pd.DataFrame(
        {
            "run": np.arange(1, runs + 1),
            "log_r": log_odds(clean),
            "log_r_estimated": log_odds(estimated),
        }
    )
    a, b = (block.channel for block in plan.blocks)
    predicted = (predicted_log_odds_se(Identity(2), Identity(2)), predicted_log_odds_se(a, b))
    return Result(
        {"runs": table},
        _odds_claims(table, predicted, (clean, estimated)),
        lambda figure, *_: _draw_3_3(figure, table, predicted),
        facts={"predicted_log_odds_se": dict(zip(("clean", "estimated"), predicted, strict=True))},
    )


def _odds_claims(
    table: pd.DataFrame, predicted: tuple[float, float], counts: tuple[Tensor, Tensor]
) -> Iterator[Claim]:
    columns = ("log_r", "log_r_estimated")
    spreads = [table[name].std() for name in columns]
    ends = [
        np.nanquantile(np.exp(table[name]), q) for name in reversed(columns) for q in (0.025, 0.975)
    ]
    yield Claim(
        "The estimated odds ratio is more widely spread: 95 % of the runs lie between"
        f" {ends[0]:.2f} and {ends[1]:.2f}, of the clean samples between {ends[2]:.2f} and"
        f" {ends[3]:.2f}; the logarithm's deviation is {spreads[1] / spreads[0]:.0f} times as"
        " large.",
        spreads[1] > spreads[0],
    )
    # Half the width of the middle 68 %: a deviation that outlying runs do not affect.
    middle = [
        float(np.ptp(np.nanquantile(table[name], stats.norm.cdf([-1.0, 1.0])))) / 2
        for name in columns
    ]
    yield Claim(
        f"The delta method predicts deviations of ln r of {predicted[0]:.3f} and"
        f" {predicted[1]:.3f}; the middle 68 % of the runs give {middle[0]:.3f} and"
        f" {middle[1]:.3f} (a first-order formula: {100 * _DELTA_ERROR:.0f} % are allowed).",
        all(abs(s / p - 1) <= _DELTA_ERROR for s, p in zip(middle, predicted, strict=True)),
    )
    rates = []
    for own, name in zip(counts, columns, strict=True):
        known = ~table[name].isna().to_numpy()
        z = table.loc[known, name].to_numpy() / np.sqrt((1 / own[known]).sum(axis=(1, 2)))
        rates.append(float((np.abs(z) > stats.norm.isf(LEVEL / 2)).mean()))
    yield Claim(
        "If the test made for clean counts is used, independent variables are judged dependent"
        f" with high probability: in {100 * rates[1]:.0f} % of the runs, against"
        f" {100 * rates[0]:.1f} % of the clean samples (level {100 * LEVEL:.0f} %).",
        rates[1] > 0.5 > rates[0],
    )


def log_odds(counts: Tensor) -> Tensor:
    """Return ln(n11 n22 / (n12 n21)) of tables (..., 2, 2); NaN for a table with a count <= 0."""
    safe = np.where((counts > 0).all(axis=(-2, -1), keepdims=True), counts, np.nan)
    value: Tensor = np.log(safe[..., 0, 0] * safe[..., 1, 1] / (safe[..., 0, 1] * safe[..., 1, 0]))
    return value


def predicted_log_odds_se(a: Transition, b: Transition) -> float:
    """Return the standard error of the log odds ratio of two independent randomized fair bits.

    To first order, the estimate is the mean of a function of the reports over the records.
    """
    reported = b.apply(a.apply(_FAIR, 0), 1)
    slopes = np.array([[1.0, -1.0], [-1.0, 1.0]]) / _FAIR
    of_report = b.solve_adjoint(a.solve_adjoint(slopes, 0), 1)
    return math.sqrt(float((reported * np.square(of_report)).sum()) / RECORDS)


def _draw_3_3(figure: Figure, table: pd.DataFrame, predicted: tuple[float, float]) -> None:
    axes = figure.subplots(1, 2)
    panels = (
        ("log_r", "(a) clean samples", "odds ratio r", style.BLUE),
        ("log_r_estimated", "(b) estimated from randomized records", "odds ratio r̂", style.RED),
    )
    for axis, error, (name, title, label, colour) in zip(axes, predicted, panels, strict=True):
        _histogram(axis, np.exp(table[name].dropna().to_numpy()), error, colour)
        axis.set(title=title, xlabel=label)
    axes[0].set_ylabel(f"density over {len(table):,} runs")


def _histogram(axis: Axes, ratios: Tensor, error: float, colour: str) -> None:
    high = float(np.quantile(ratios, 0.985)) if error > 0.5 else float(ratios.max())
    low = 0.0 if error > 0.5 else float(ratios.min())
    bins = np.linspace(low, high, 41)
    weights = np.full(len(ratios), 1 / (len(ratios) * (bins[1] - bins[0])))
    axis.hist(ratios, bins=bins.tolist(), weights=weights, color=colour, alpha=0.4)
    grid = np.linspace(max(low, 1e-3), high, 400)
    density = stats.lognorm.pdf(grid, s=error)
    axis.plot(grid, density, color=style.BLACK, label="predicted by the delta method")
    axis.axvline(1, color=style.GREY, linestyle=":", label="independence, r = 1")
    axis.set(xlim=(low, high), ylim=(0, 1.4 * density.max()))
    axis.legend(loc="upper right")


KEEP_A = tuple(round(0.25 + 0.1 * k, 2) for k in range(8))
RECORDS_A = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000)
RUNS_A, QUICK_RUNS_A = 20, 3

KEEP_B = tuple(round(0.1 * k, 1) for k in range(1, 11))
RECORDS_B = (25_000, 50_000, 100_000, 200_000, 400_000)
RUNS_B, QUICK_RUNS_B = 5, 1

_MIXED = 0.01
"""The share of the uniform distribution mixed into an estimate before the divergence is computed. A
likelihood estimate may be 0 where the truth is not, and the divergence would be infinite. A share
that does not depend on the count of records keeps divergences comparable.
"""


def run_3_4(setting: Setting) -> Result:
    """Estimate by maximum likelihood at every setting, and average the distances."""
    categorical, numeric = _categorical(setting.part(0.0, 0.5)), _numeric(setting.part(0.5, 1.0))
    return Result(
        {"a": categorical, "b": numeric}, _accuracy_claims(categorical, numeric), _draw_3_4
    )


def _accuracy_claims(categorical: pd.DataFrame, numeric: pd.DataFrame) -> Iterator[Claim]:
    """Check the paper's conclusion that enough records give both accuracy and privacy."""
    parts = (("(a)", categorical, "kl_bits"), ("(b)", numeric, "l1"))
    for part, table, measure in parts:
        wide = table.pivot_table(index="keep", columns="records", values=measure)
        fewest, most = wide.columns[0], wide.columns[-1]
        private, exact = wide.index[0], wide.index[-1]
        yield Claim(
            f"{part} At every keep-probability the distance is smaller with {most:,} records than"
            f" with {fewest:,}: from {wide.loc[private, fewest]:.3f} to"
            f" {wide.loc[private, most]:.3f} at 1 - p = {private:g}, from"
            f" {wide.loc[exact, fewest]:.3f} to {wide.loc[exact, most]:.3f} at 1 - p = {exact:g}.",
            (wide[most] < wide[fewest]).all(),
        )
        yield Claim(
            f"{part} More randomization gives a larger distance at every count of records"
            f" ({wide.loc[private, most] / wide.loc[exact, most]:.1f} times at {most:,}, 1 - p ="
            f" {private:g} against {exact:g}).",
            (wide.loc[private] > wide.loc[exact]).all(),
        )


def _categorical(setting: Setting) -> pd.DataFrame:
    runs = QUICK_RUNS_A if setting.quick else RUNS_A
    pmf = given.pmf()
    owner = SeededOwner.of("ma-3.4", setting.seed, max(RECORDS_A))
    rows = []
    for done, (keep, records) in setting.steps(enumerate(product(KEEP_A, RECORDS_A))):
        plan = given.multicategory(1 - keep)
        losses = []
        for index in range(runs):
            rng = setting.rng("ma-3.4", keep, records, index)
            codes = draw_cells(pmf, given.NAMES, records, rng)
            counts = _likely(owner.report(plan, codes, 1 + done * runs + index), plan)
            losses.append(divergence(pmf, counts))
        rows.append((keep, records, np.mean(losses), stats.sem(losses)))
    return pd.DataFrame(rows, columns=["keep", "records", "kl_bits", "kl_bits_se"])


def _likely(reported: ReportedCounts, plan: Plan) -> Tensor:
    observed = reported.table(plan.domain.names).astype(np.float64)
    stratum = Stratum(observed, tuple(block.channel for block in plan.blocks))
    return maximize([stratum]).table * reported.records


def divergence(pmf: Tensor, counts: Tensor) -> float:
    """Return the Kullback-Leibler distance in bits from `pmf` to counts mixed with the uniform."""
    estimate = (1 - _MIXED) * counts / counts.sum() + _MIXED / counts.size
    return float(stats.entropy(pmf.ravel(), estimate.ravel(), base=2))


def _numeric(setting: Setting) -> pd.DataFrame:
    sizes, runs = (RECORDS_B[:3], QUICK_RUNS_B) if setting.quick else (RECORDS_B, RUNS_B)
    owner = SeededOwner.of("ma-3.4 b", setting.seed, max(sizes))
    rows = []
    for index, (records, _) in setting.steps(enumerate(product(sizes, range(runs)))):
        values = given.triangle_sample(records, setting.rng("ma-3.4", "numeric", index))
        groups = given.discretize(values)
        for keep in KEEP_B:
            plan = given.triangle_plan(groups, keep)
            # The plan is part of the key: one key per sample makes all draws independent.
            reported = owner.report(plan, given.codes(groups, values), index)
            distance = given.l1_distance(groups, _likely(reported, plan))
            rows.append((keep, records, groups.size, distance))
    table = pd.DataFrame(rows, columns=["keep", "records", "groups", "l1"])
    return table.groupby(["keep", "records"], as_index=False).mean()


def _draw_3_4(figure: Figure, categorical: pd.DataFrame, numeric: pd.DataFrame) -> None:
    axes = figure.subplots(1, 2)
    panels = ((categorical, "kl_bits"), (numeric, "l1"))
    for axis, (table, measure) in zip(axes, panels, strict=True):
        sizes = sorted(set(table["records"]))
        shades = style.shades(len(sizes))
        looks = {n: (c, m, "-") for n, c, m in zip(sizes, shades, "os^DvPX*<>")}  # noqa: B905
        curves(axis, table, "keep", measure, "records", looks=looks, label="N = {:,}")
        axis.set_yscale("log")
        axis.yaxis.set_major_formatter("{x:g}")
        axis.yaxis.set_minor_formatter("")
        low, high = axis.get_ylim()
        axis.set_ylim(low, high * (high / low) ** 0.35)  # room for the legend
        axis.set_xlabel("probability 1 − p that a category is kept")
        axis.legend(loc="upper right", ncols=2, fontsize=9)
    axes[0].set(title="(a) two variables, table 2.1", ylabel="Kullback-Leibler distance, bits")
    axes[1].set(title="(b) two triangles, MGAS per N", ylabel="L1 distance of densities")
