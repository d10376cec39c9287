"""Ma figure 3.3: odds ratios of two independent variables, before and after randomization."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.reproduce.engine import Axes, Experiment, Figure, Finding, Result, Setting
from pramana.setups.owner import SeededOwner, draw_cells, numbered
from pramana_core.channels import Identity, Symmetric
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.marginals.counts import Tensor, tabulate
from pramana_core.pictures import plots as style
from pramana_core.plan import Block, Plan
from pramana_core.privacy.information_loss import predicted_log_odds_se

RECORDS = 10_000
RUNS = 2_000
P = 0.4
LEVEL = 0.05
"""The level of the test of independence."""

_NAMES = ("X1", "X2")
_FAIR = np.full((2, 2), 0.25)
_DELTA_ERROR = 0.1
"""The delta method is a first-order approximation; this relative error is allowed it."""


def run(setting: Setting) -> Result:
    """Draw, randomize and estimate 2,000 times; every run has records and draw keys of its own."""
    runs = RUNS // 10 if setting.quick else RUNS
    plan = Plan(tuple(Block((numbered(n, 2),), Symmetric.from_probability(2, P)) for n in _NAMES))
    owner = SeededOwner.of("ma-3.3", setting.seed, RECORDS)
    rng = setting.rng("ma-3.3", "records")
    clean = np.empty((runs, 2, 2))
    estimated = np.empty((runs, 2, 2))
    scores = np.empty(runs)
    for index in setting.steps(range(runs)):
        codes = draw_cells(_FAIR, _NAMES, RECORDS, rng)
        reported = owner.report(plan, codes, index)
        estimate = EstimatedMarginals(reported, plan).marginal(_NAMES)
        clean[index] = tabulate(list(codes.values()), (2, 2))
        estimated[index] = estimate.counts
        scores[index] = dependence_score(estimate.counts, estimate.covariance(population=True))
    table = _frame(clean, estimated, scores)
    predicted = _predicted(plan)
    findings = (
        _wider(table),
        _as_predicted(table, predicted),
        _judged_dependent(table, clean, estimated),
        _judged_rightly(table),
    )
    return Result(
        {"runs": table},
        findings,
        lambda figure: _draw(figure, table, predicted),
        facts={"predicted_log_odds_se": dict(zip(("clean", "estimated"), predicted, strict=True))},
    )


def log_odds(counts: Tensor) -> Tensor:
    """Return ln(n11 n22 / (n12 n21)) of tables (..., 2, 2); not a number where a count is <= 0."""
    safe = np.where((counts > 0).all(axis=(-2, -1), keepdims=True), counts, np.nan)
    value: Tensor = np.log(safe[..., 0, 0] * safe[..., 1, 1] / (safe[..., 0, 1] * safe[..., 1, 0]))
    return value


def dependence_score(counts: Tensor, covariance: Tensor) -> float:
    """Return n11 n22 - n12 n21 over its standard error: normal if the variables are independent.

    The odds ratio's logarithm is too curved where the noise is large; this difference is not, and
    it exists when a count is negative.

    Args:
        counts: 2 x 2, estimated.
        covariance: 4 x 4, of the counts in C order.
    """
    (a, b), (c, d) = counts
    slope = np.array([d, -c, -b, a])
    return float((a * d - b * c) / np.sqrt(slope @ covariance @ slope))


def _predicted(plan: Plan) -> tuple[float, float]:
    """Return the standard errors of ln r and of ln r^ that are expected before any data."""
    a, b = (block.channel for block in plan.blocks)
    clean = predicted_log_odds_se(_FAIR, Identity(2), Identity(2), RECORDS)
    return clean, predicted_log_odds_se(_FAIR, a, b, RECORDS)


def _frame(clean: Tensor, estimated: Tensor, scores: Tensor) -> pd.DataFrame:
    frame = pd.DataFrame({"log_r": log_odds(clean), "log_r_estimated": log_odds(estimated)})
    frame["dependence_score"] = scores
    frame.insert(0, "run", np.arange(1, len(frame) + 1))
    return frame


def _wider(table: pd.DataFrame) -> Finding:
    clean, estimated = table["log_r"].std(), table["log_r_estimated"].std()
    r, r_hat = np.exp(table["log_r"]), np.exp(table["log_r_estimated"])
    ends = [np.nanquantile(x, q) for x in (r, r_hat) for q in (0.025, 0.975)]
    return Finding(
        bool(estimated > clean),
        "The estimated odds ratio is more widely spread: 95 % of the runs lie between"
        f" {ends[2]:.2f} and {ends[3]:.2f}, of the clean samples between {ends[0]:.2f} and"
        f" {ends[1]:.2f};"
        f" the logarithm's deviation is {estimated / clean:.0f} times as large.",
    )


def _as_predicted(table: pd.DataFrame, predicted: tuple[float, float]) -> Finding:
    seen = [_half_width(table[name]) for name in ("log_r", "log_r_estimated")]
    near = [abs(s / p - 1) <= _DELTA_ERROR for s, p in zip(seen, predicted, strict=True)]
    return Finding(
        all(near),
        f"The delta method predicts deviations of ln r of {predicted[0]:.3f} and"
        f" {predicted[1]:.3f}; the middle 68 % of the runs give {seen[0]:.3f} and {seen[1]:.3f}"
        f" (a first-order formula:"
        f" {100 * _DELTA_ERROR:.0f} % are allowed).",
    )


def _half_width(values: pd.Series[float]) -> float:
    """Half the width of the middle 68 %: a deviation that single far runs do not move."""
    low, high = np.nanquantile(values, stats.norm.cdf([-1.0, 1.0]))
    return float(high - low) / 2


def _judged_dependent(table: pd.DataFrame, clean: Tensor, estimated: Tensor) -> Finding:
    """The same test on both: the log odds ratio against the error of clean counts."""
    rates = []
    for counts, name in ((clean, "log_r"), (estimated, "log_r_estimated")):
        known = ~table[name].isna().to_numpy()
        naive = np.sqrt((1 / counts[known]).sum(axis=(1, 2)))
        rates.append(_rejected(table.loc[known, name].to_numpy() / naive))
    return Finding(
        rates[1] > 0.5 > rates[0],
        "If the test made for clean counts is used, independent variables are judged dependent with"
        f" high probability: in {100 * rates[1]:.0f} % of the runs, against {100 * rates[0]:.1f} %"
        f" of the clean samples (level {100 * LEVEL:.0f} %).",
    )


def _judged_rightly(table: pd.DataFrame) -> Finding:
    """A test that knows the estimate's own error keeps its level; the paper leaves this open."""
    rate = _rejected(table["dependence_score"].to_numpy())
    lost = int(table["log_r_estimated"].isna().sum())
    return Finding(
        None,
        "A test with the estimate's own standard error (of n11 n22 - n12 n21) judges"
        f" {100 * rate:.1f} % dependent."
        + (
            f" {lost} of {len(table):,} runs had a negative count and no odds ratio."
            if lost
            else ""
        ),
    )


def _rejected(z: Tensor) -> float:
    return float((np.abs(z) > stats.norm.isf(LEVEL / 2)).mean())


def _draw(figure: Figure, table: pd.DataFrame, predicted: tuple[float, float]) -> None:
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
    beyond = int((ratios > high).sum())
    bins = np.linspace(low, high, 41)
    weights = np.full(len(ratios), 1 / (len(ratios) * (bins[1] - bins[0])))
    axis.hist(ratios, bins=bins.tolist(), weights=weights, color=colour, alpha=0.4)
    grid = np.linspace(max(low, 1e-3), high, 400)
    density = stats.lognorm.pdf(grid, s=error)
    axis.plot(grid, density, color=style.BLACK, label="predicted by the delta method")
    axis.axvline(1, color=style.GREY, linestyle=":", label="independence, r = 1")
    axis.set(xlim=(low, high), ylim=(0, 1.4 * density.max()))
    axis.legend(loc="upper right")
    if beyond:
        axis.text(
            0.99,
            0.6,
            f"{beyond} runs beyond {high:.1f},\nthe largest at {ratios.max():.0f}",
            transform=axis.transAxes,
            ha="right",
            fontsize=9.5,
            color="#555555",
        )


EXPERIMENT = Experiment(
    name="ma-3.3",
    title="Odds ratios of two independent variables, 10,000 records, p = 0.4",
    source="Ma (2006), figure 3.3",
    run=run,
    choices=(
        "The variables take both values with probability 1/2; the paper does not say.",
        "Every run draws new records: with one sample the clean histogram would be one bar.",
    ),
)
