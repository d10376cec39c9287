"""Ma figures 5.4 and 5.5: the estimated parameters of a node with parents elsewhere.

They are shown against p, and then the largest p that keeps an accuracy, against the sample size.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from benchmarks.reproduce.data import ma_laws
from benchmarks.reproduce.engine import (
    Experiment,
    Figure,
    Finding,
    Result,
    Setting,
    parameter_errors,
    plausible,
    thousands,
)
from pramana.setups.owner import SeededOwner
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.networks.bayes_net import learn_parameters
from pramana_core.marginals.counts import Codes, Tensor
from pramana_core.pictures import plots as style
from pramana_core.ties import first_largest

RECORDS = 5_000
RUNS = 10
NODE = "D"
LEVELS = tuple(round(0.025 * k, 3) for k in range(1, 15))

ALMOST_NONE = 0.02
"""What we call almost no error: the smaller of the two thresholds of the paper's figure 5.5."""

REASONABLE = 0.10
"""What we call reasonably good, for a single run's standard error."""

GIVEN = ("B = 1, C = 1", "B = 1, C = 2", "B = 2, C = 1", "B = 2, C = 2")


def run_5_4(setting: Setting) -> Result:
    """Randomize one sample ten times at every p and estimate the parameters of node D."""
    codes = ma_laws.six_sample(RECORDS, setting.rng("ma-5.4"))
    counts = ma_laws.counted(codes, NODE)
    levels = LEVELS[1::2] if setting.quick else LEVELS
    owner = SeededOwner.of("ma-5.4", setting.seed, RECORDS)
    rows = (_rows(p, counts, estimates(owner, codes, p, RUNS)) for p in setting.steps(levels))
    table = pd.concat(rows, ignore_index=True)
    findings = (
        _no_error(table),
        _good_to_0_3(table),
        _as_theory_says(table),
        _any_network(),
    )
    return Result({"parameters": table}, findings, lambda figure: _draw_5_4(figure, table))


def estimates(owner: SeededOwner, codes: dict[str, Codes], p: float, runs: int) -> Tensor:
    """Return the raw estimates of Pr(D = 1 | B, C) per run, shape (runs, 4)."""
    plan = ma_laws.six_plan(p, "".join(ma_laws.family(NODE).nodes))
    columns = {name: codes[name] for name in plan.domain.names}
    return estimates_of(
        EstimatedMarginals(owner.report(plan, columns, index), plan) for index in range(runs)
    )


def estimates_of(reports: Iterable[EstimatedMarginals]) -> Tensor:
    """Return the raw estimates of Pr(D = 1 | B, C) by each run's reports, shape (runs, 4)."""
    learned = (learn_parameters(one, ma_laws.family(NODE)).families[-1] for one in reports)
    return np.array([family.estimate[..., 0].ravel() for family in learned])


def clean_of(counts: Tensor) -> Tensor:
    """Return the node's parameters by the counts of its family."""
    shares: Tensor = (counts[..., 0] / counts.sum(axis=-1)).ravel()
    return shares


def theory(counts: Tensor, p: float, *, exact: bool = False) -> Tensor:
    """Return the standard errors given the records, one per combination of the parents.

    Args:
        counts: the true counts of the family, the node's own axis last.
        p: the parameter of the randomization.
        exact: the node itself is not randomized.
    """
    flip = np.array([[1 - p, p], [p, 1 - p]])
    matrices = [*[flip] * (counts.ndim - 1), np.eye(2) if exact else flip]
    return parameter_errors(counts, matrices)[..., 0].ravel()


def over_runs(counts: Tensor, found: Tensor, errors: Tensor) -> dict[str, Tensor]:
    """Return columns of the parameters: clean, and over the runs, beside what theory says."""
    return {
        "clean": clean_of(counts),
        "mean": found.mean(axis=0),
        "sd": found.std(axis=0, ddof=1),
        "theory_sd": errors,
    }


def _rows(p: float, counts: Tensor, found: Tensor) -> pd.DataFrame:
    columns = over_runs(counts, found, theory(counts, p))
    return pd.DataFrame({"p": p, "given": GIVEN, **columns})


def _no_error(table: pd.DataFrame) -> Finding:
    rows = table[table["p"] <= 0.25]
    off = (rows["mean"] - rows["clean"]).abs()
    worst = rows.iloc[first_largest(off, scale=1.0)]
    return Finding(
        bool(off.max() <= ALMOST_NONE),
        "The paper sees almost no error up to p = 0.25. There the means of ten runs differ from the"
        f" clean estimates by up to {off.max():.3f} (given {worst['given']}, p = {worst['p']:g}; we"
        f" call up to {ALMOST_NONE} almost none). A single run's standard error is up to"
        f" {rows['theory_sd'].max():.3f}.",
    )


def _good_to_0_3(table: pd.DataFrame) -> Finding:
    rows = table[(table["p"] > 0.25) & (table["p"] <= 0.3)]
    return Finding(
        bool(rows["theory_sd"].max() <= REASONABLE),
        "It calls the estimates reasonably good up to p = 0.3. There a single run's standard error"
        f" is {rows['theory_sd'].min():.3f} to {rows['theory_sd'].max():.3f} (we call up to"
        f" {REASONABLE:.2f} reasonably good).",
    )


def squared_ratios(table: pd.DataFrame) -> tuple[float, tuple[bool, float, float]]:
    """Return the sum of squared ratios to small errors of theory, and whether it is plausible.

    The four parameters of one run are correlated: the chi-square law is only nearly theirs.
    """
    rows = table[table["theory_sd"] <= 2 * ALMOST_NONE]
    statistic = float(((RUNS - 1) * (rows["sd"] / rows["theory_sd"]) ** 2).sum())
    return statistic, plausible(statistic, (RUNS - 1) * len(rows))


def _as_theory_says(table: pd.DataFrame) -> Finding:
    """Hold the deviations against the delta method where its errors are small."""
    statistic, (held, low, high) = squared_ratios(table)
    return Finding(
        held,
        "The deviations over ten runs are those of theorem 5.2 and the delta method, where these"
        f" are up to {2 * ALMOST_NONE:g}: the sum of their squared ratios is {statistic:.0f}"
        f" (between {low:.0f} and {high:.0f} in 999 of 1,000 experiments).",
    )


def _any_network() -> Finding:
    """The paper's network is lost; this does not depend on it much."""
    even = np.full((2, 2, 2), RECORDS / 8)
    errors = ", ".join(f"{theory(even, p)[0]:.3f} at p = {p:g}" for p in (0.2, 0.25, 0.3))
    return Finding(
        None,
        "The verdicts depend little on the network chosen here: with all eight combinations of B, C"
        f" and D equally frequent the standard errors would be {errors}.",
    )


def _draw_5_4(figure: Figure, table: pd.DataFrame) -> None:
    axis = figure.subplots()
    colours = (style.BLUE, style.RED, style.GREEN, style.ORANGE)
    for (given, rows), colour, marker in zip(
        table.groupby("given"), colours, style.MARKERS, strict=False
    ):
        style.curve(axis, rows["p"], rows["mean"], colour, marker, f"D = 1 | {given}")
        axis.plot(rows["p"], rows["mean"] + rows["sd"], ":", color=colour, linewidth=1.2)
        axis.fill_between(
            rows["p"],
            rows["clean"] - rows["theory_sd"],
            rows["clean"] + rows["theory_sd"],
            color=colour,
            alpha=0.12,
            linewidth=0,
        )
        axis.axhline(rows["clean"].iloc[0], color=colour, linewidth=0.8, linestyle="--")
    axis.plot([], [], ":", color=style.BLACK, linewidth=1.2, label="mean + one deviation")
    axis.fill_between([], [], [], color=style.GREY, alpha=0.3, label="clean ± predicted deviation")
    axis.set(
        ylim=(-0.2, 1.2),
        xlim=(0, table["p"].max()),
        xlabel="probability p of a flip",
        ylabel=f"estimated parameter, mean of {RUNS} runs",
    )
    axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


MA_5_4 = Experiment(
    name="ma-5.4",
    title="Estimated parameters of node D against the randomization parameter",
    source="Ma (2006), figure 5.4",
    run=run_5_4,
    choices=(
        ma_laws.SIX_NODES,
        "The ten runs randomize one sample of 5,000; errors are against its own parameters.",
    ),
)


THRESHOLDS = (0.02, 0.04)
RECORDS_5_5 = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000)
LEVELS_5_5 = tuple(round(0.01 * k, 2) for k in range(1, 46))

_ERROR = (
    "The error is the mean over ten runs and the four parameters of node D of the absolute"
    " difference to the clean estimate; p moves in steps of 0.01."
)

_MEAN_ABSOLUTE = float(np.sqrt(2 / np.pi))
"""The mean absolute value of a standard normal variable."""


def run_5_5(setting: Setting) -> Result:
    """Raise p until the mean absolute error exceeds each threshold, at every sample size."""
    sizes = RECORDS_5_5[:4] if setting.quick else RECORDS_5_5
    codes = ma_laws.six_sample(max(sizes), setting.rng("ma-5.5"))
    owner = SeededOwner.of("ma-5.5", setting.seed, max(sizes))
    rows = []
    for records in setting.steps(sizes, cost=float):
        some = {name: column[:records] for name, column in codes.items()}
        counts = ma_laws.counted(some, NODE)
        found = first_above(owner, some, counts)
        rows += [(records, c, found[c], predicted(counts, c)) for c in THRESHOLDS]
    table = pd.DataFrame(rows, columns=["records", "threshold", "p_star", "predicted"])
    findings = (*(_grows(table, c) for c in THRESHOLDS), _agreement(table))
    return Result({"p-star": table}, findings, lambda figure: _draw_5_5(figure, table))


def first_above(owner: SeededOwner, codes: dict[str, Codes], counts: Tensor) -> dict[float, float]:
    """Return the smallest p at which the error exceeds each threshold; NaN if none does.

    The error is the mean over ten runs and the four parameters of D of the absolute difference to
    the clean estimate.
    """
    clean = clean_of(counts)
    found: dict[float, float] = dict.fromkeys(THRESHOLDS, np.nan)
    for p in LEVELS_5_5:
        error = float(np.abs(estimates(owner, codes, p, RUNS) - clean).mean())
        for c in THRESHOLDS:
            if np.isnan(found[c]) and error > c:
                found[c] = p
        if not np.isnan(list(found.values())).any():
            break
    return found


def predicted(counts: Tensor, threshold: float) -> float:
    """Return the p at which normal errors of theorem 5.2 have this mean absolute value."""

    def excess(p: float) -> float:
        return _MEAN_ABSOLUTE * float(theory(counts, p).mean()) - threshold

    return float(brentq(excess, 1e-4, 0.499))


def _grows(table: pd.DataFrame, threshold: float) -> Finding:
    rows = table[table["threshold"] == threshold]
    found = rows["p_star"].to_numpy()
    # Ten runs leave p* some noise: one step back between neighbours is no contradiction.
    return Finding(
        bool((np.diff(found) > -0.015).all() and found[-1] > found[0]),
        f"c = {threshold:.0%}: p* grows with the number of records, from {found[0]:.2f} with"
        f" {rows['records'].iloc[0]:,} to {found[-1]:.2f} with {rows['records'].iloc[-1]:,}.",
    )


def _agreement(table: pd.DataFrame) -> Finding:
    off = table["p_star"] - table["predicted"]
    return Finding(
        None,
        "The p at which the errors that theorem 5.2 predicts have the mean absolute value c differs"
        f" from p* by {off.abs().max():.3f} at most, where p moves in steps of 0.01.",
    )


def _draw_5_5(figure: Figure, table: pd.DataFrame) -> None:
    axes = figure.subplots(1, 2, sharey=True)
    for axis, threshold, part in zip(axes, THRESHOLDS, "ab", strict=True):
        rows = table[table["threshold"] == threshold]
        axis.plot(rows["records"], rows["p_star"], "o", color=style.BLUE, label="p*, ten runs")
        axis.plot(rows["records"], rows["predicted"], "-", color=style.RED, label="predicted")
        thousands(axis, rows["records"].tolist())
        axis.set(title=f"({part}) c = {threshold:.0%}", xlabel="records N")
    axes[0].set(ylim=(0, 0.5), ylabel="p*, smallest p with an error above c")
    axes[0].legend(loc="lower right")


MA_5_5 = Experiment(
    name="ma-5.5",
    title="The randomization that keeps an accuracy, against the sample size",
    source="Ma (2006), figure 5.5",
    run=run_5_5,
    choices=(ma_laws.SIX_NODES, _ERROR),
)
