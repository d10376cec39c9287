"""Ma chapter 5: estimated parameters of a network, against p and against the sample size.

The law of one parameter (figure 5.1), a node's parameters against p (5.4), and the largest p that
keeps an accuracy, against the sample size (5.5).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats
from scipy.optimize import brentq

from benchmarks.reproduce import data
from benchmarks.reproduce.engine import (
    Axes,
    Experiment,
    Figure,
    Finding,
    Result,
    Setting,
    claim,
    covariance,
    flips,
    parameter_errors,
    plausible,
    thousands,
)
from pramana.setups import SeededOwner
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.networks.bayes_net import learn_parameters
from pramana_core.marginals.counts import Codes, Tensor
from pramana_core.pictures import plots as style
from pramana_core.ties import first_largest

P_A, RECORDS_A = (0.1, 0.2, 0.25, 0.3, 0.35, 0.4), 8_000
P_B, RECORDS_B = 0.25, (1_000, 2_000, 4_000, 8_000, 16_000, 32_000)

DRAWS = 200_000

CLOSE = 0.02
"""What we call a good approximation: no probability is wrong by more."""


@dataclass(frozen=True)
class RatioOfNormals:
    """W = X1 / X2 of two normal variables with correlation `rho`, for X2 surely positive.

    The density and the normal deviate are Hinkley's (Ma 5.4.1); the constant c, which the text does
    not define, is the value of the quadratic form of the inverse correlation at the means.
    """

    means: tuple[float, float]
    deviations: tuple[float, float]
    rho: float

    @classmethod
    def of_parameter(cls, counts: Tensor, p: float) -> RatioOfNormals:
        """Return the ratio N^_111 / N^_11 under flips of both variables, X2 in rows."""
        flip = flips(p)
        full = covariance(counts, [flip, flip])
        pair = np.array([[1, 0, 0, 0], [1, 1, 0, 0]])
        (v1, v12), (_, v2) = pair @ full @ pair.T
        means = pair @ counts.ravel()
        return cls((means[0], means[1]), (np.sqrt(v1), np.sqrt(v2)), v12 / np.sqrt(v1 * v2))

    def _a(self, w: Tensor) -> Tensor:
        s1, s2 = self.deviations
        root: Tensor = np.sqrt((w / s1) ** 2 - 2 * self.rho * w / (s1 * s2) + 1 / s2**2)
        return root

    def density(self, w: Tensor) -> Tensor:
        """Return the approximate density f(w) of 5.4.1."""
        (m1, m2), (s1, s2), rho = self.means, self.deviations, self.rho
        a = self._a(w)
        b = m1 * w / s1**2 - rho * (m1 + m2 * w) / (s1 * s2) + m2 / s2**2
        c = (m1 / s1) ** 2 - 2 * rho * m1 * m2 / (s1 * s2) + (m2 / s2) ** 2
        d = np.exp((b**2 - c * a**2) / (2 * (1 - rho**2) * a**2))
        value: Tensor = b * d / (np.sqrt(2 * np.pi) * s1 * s2 * a**3)
        return value

    def cdf(self, w: Tensor) -> Tensor:
        """Return Pr(W <= w), by the normal deviate of 5.4.1."""
        (m1, m2), (s1, s2) = self.means, self.deviations
        value: Tensor = stats.norm.cdf((m2 * w - m1) / (s1 * s2 * self._a(w)))
        return value

    @property
    def normal_deviation(self) -> float:
        """The standard deviation of the normal approximation (Taylor expansion, 5.4.1)."""
        (m1, m2), (s1, s2) = self.means, self.deviations
        return float(s1 * s2 / m2 * self._a(np.array(m1 / m2)))

    @property
    def printed_deviation(self) -> float:
        """The same as 5.4.2 prints it, with N_ijk^2 where 5.4.1 has the square of N_ij."""
        m1, m2 = self.means
        return self.normal_deviation * m2 / m1


def run_5_1(setting: Setting) -> Result:
    """Compare both approximations with simulated estimates over both grids."""
    grid = [("a", p, RECORDS_A) for p in P_A] + [("b", P_B, n) for n in RECORDS_B]
    rows = []
    for part, p, records in setting.steps(grid):
        draws = DRAWS // 10 if setting.quick else DRAWS
        found = np.sort(simulate(p, records, draws, setting.rng("ma-5.1", p, records)))
        ratio = RatioOfNormals.of_parameter(equal(records), p)
        sd = ratio.normal_deviation
        off = (farthest(found, c) for c in (ratio.cdf(found), stats.norm.cdf(found, 0.5, sd)))
        rows.append((part, p, records, sd, float(found.std(ddof=1)), *off))
    columns = ["part", "p", "records", "sd", "simulated_sd", "hinkley_off", "normal_off"]
    table = pd.DataFrame(rows, columns=columns)
    by_p, by_records = (table[table["part"] == part]["simulated_sd"].to_numpy() for part in "ab")
    first = RatioOfNormals.of_parameter(equal(RECORDS_A), P_A[0])
    by_printed = first.printed_deviation / by_p[0]
    findings = (
        claim(
            f"(a) The variance of the estimator increases with p: with {RECORDS_A:,} records the"
            f" simulated standard deviation goes from {by_p[0]:.4f} at p = {P_A[0]} to"
            f" {by_p[-1]:.4f} at p = {P_A[-1]}.",
            (np.diff(by_p) > 0).all(),
        ),
        claim(
            f"(b) It decreases with the number of records: at p = {P_B} from {by_records[0]:.4f}"
            f" with {RECORDS_B[0]:,} to {by_records[-1]:.4f} with {RECORDS_B[-1]:,}.",
            (np.diff(by_records) < 0).all(),
        ),
        _good(table, "hinkley_off", "Hinkley's form for the ratio of two normal variables"),
        _good(table, "normal_off", "The normal approximation"),
        claim(
            "The variance printed in 5.4.2 divides by N_ijk squared; as printed the standard"
            f" deviation is {by_printed:.2f} times the simulated one. Divided by N_ij squared, as"
            f" 5.4.1 derives it, {first.normal_deviation / by_p[0]:.2f} times.",
            abs(by_printed - 1) <= 0.05,
        ),
    )
    return Result({"deviations": table}, findings, lambda figure: _draw_law(figure, setting))


def equal(records: int) -> Tensor:
    """Return the counts of 5.4.3: all four equal."""
    return np.full((2, 2), records / 4)


def simulate(p: float, records: int, draws: int, rng: np.random.Generator) -> Tensor:
    """Return estimates of theta_111 from counts drawn by theorem 5.1 (b).

    The records of each true cell are reported in the four cells by one multinomial draw.
    """
    flip = flips(p)
    joint = np.kron(flip, flip)
    counts = equal(records).ravel().astype(np.int64)
    reported = sum(
        rng.multinomial(n, row, size=draws) for n, row in zip(counts, joint, strict=True)
    )
    estimate = reported @ np.linalg.inv(joint)
    value: Tensor = estimate[:, 0] / estimate[:, :2].sum(axis=1)
    return value


def farthest(ordered: Tensor, cdf: Tensor) -> float:
    """Return the largest distance of a distribution function from that of a sample.

    Estimates of few records take the same values again and again; the middle of a step counts.
    """
    _, first, times = np.unique(ordered, return_index=True, return_counts=True)
    middle = (first + times / 2) / len(ordered)
    return float(np.abs(cdf[first] - middle).max())


def _good(table: pd.DataFrame, column: str, name: str) -> Finding:
    worst = table.iloc[first_largest(table[column], scale=1.0)]
    return claim(
        f"{name} works well: its distribution function is nowhere farther than {worst[column]:.3f}"
        f" from that of the simulated estimates (worst at p = {worst['p']:g}, N ="
        f" {worst['records']:,.0f}; we call up to {CLOSE} good).",
        worst[column] <= CLOSE,
    )


def _draw_law(figure: Figure, setting: Setting) -> None:
    axes = figure.subplots(1, 2)
    _panel(axes[0], setting, [(p, RECORDS_A, f"p = {p:g}") for p in P_A])
    axes[0].set(title=f"(a) N = {RECORDS_A:,}", ylabel="density of the estimate")
    _panel(axes[1], setting, [(P_B, n, f"N = {n:,}") for n in RECORDS_B])
    axes[1].set_title(f"(b) p = {P_B}")
    axes[1].plot([], [], color=style.GREY, drawstyle="steps", label="simulated")
    axes[1].legend(loc="upper right")


def _panel(axis: Axes, setting: Setting, series: list[tuple[float, int, str]]) -> None:
    at = np.linspace(0.35, 0.65, 601)
    bins = np.linspace(0.3525, 0.6475, 60)  # 0.5 is the middle of a bin
    for (p, records, label), colour in zip(series, style.shades(len(series)), strict=True):
        ratio = RatioOfNormals.of_parameter(equal(records), p)
        draws = simulate(p, records, DRAWS // 10, setting.rng("ma-5.1", "draw", p, records))
        heights = np.histogram(draws, bins)[0] / len(draws) / np.diff(bins)
        axis.stairs(heights, bins, color=style.GREY, linewidth=0.8)
        axis.plot(at, ratio.density(at), color=colour, label=label)
    axis.set(xlim=(0.35, 0.65), xlabel="estimate of θ₁₁₁, true value 0.5")
    axis.legend(loc="upper right")


MA_5_1 = Experiment(
    name="ma-5.1",
    title="Distribution of an estimated parameter against p and number of records",
    source="Ma (2006), figure 5.1",
    run=run_5_1,
    choices=(
        (
            "The paper does not say which p and N it draws; here p from 0.1 to 0.4 and N from"
            " 1,000 to 32,000. The counts are all equal, as in 5.4.3."
        ),
    ),
)


RECORDS = 5_000
REPEATS = 10
NODE = "D"
LEVELS = tuple(round(0.025 * k, 3) for k in range(1, 15))

ALMOST_NONE = 0.02
"""What we call almost no error: the smaller of the two thresholds of the paper's figure 5.5."""

REASONABLE = 0.10
"""What we call reasonably good, for a single run's standard error."""

GIVEN = ("B = 1, C = 1", "B = 1, C = 2", "B = 2, C = 1", "B = 2, C = 2")


def run_5_4(setting: Setting) -> Result:
    """Randomize one sample ten times at every p and estimate the parameters of node D."""
    codes = data.six_sample(RECORDS, setting.rng("ma-5.4"))
    counts = data.counted(codes, NODE)
    levels = LEVELS[1::2] if setting.quick else LEVELS
    owner = SeededOwner.of("ma-5.4", setting.seed, RECORDS)
    parts = []
    for p in setting.steps(levels):
        columns = over_runs(counts, estimates(owner, codes, p, REPEATS), theory(counts, p))
        parts.append(pd.DataFrame({"p": p, "given": GIVEN, **columns}))
    table = pd.concat(parts, ignore_index=True)
    low = table[table["p"] <= 0.25]
    off = (low["mean"] - low["clean"]).abs()
    worst = low.iloc[first_largest(off, scale=1.0)]
    high = table[(table["p"] > 0.25) & (table["p"] <= 0.3)]["theory_sd"]
    statistic, (fits, least, most) = squared_ratios(table)
    findings = (
        claim(
            "The paper sees almost no error up to p = 0.25. There the means of ten runs differ from"
            f" the clean estimates by up to {off.max():.3f} (given {worst['given']}, p ="
            f" {worst['p']:g}; we call up to {ALMOST_NONE} almost none). A single run's standard"
            f" error is up to {low['theory_sd'].max():.3f}.",
            off.max() <= ALMOST_NONE,
        ),
        claim(
            "It calls the estimates reasonably good up to p = 0.3. There a single run's standard"
            f" error is {high.min():.3f} to {high.max():.3f} (we call up to {REASONABLE:.2f}"
            " reasonably good).",
            high.max() <= REASONABLE,
        ),
        claim(
            "The deviations over ten runs are those of theorem 5.2 and the delta method, where"
            f" these are up to {2 * ALMOST_NONE:g}: the sum of their squared ratios is"
            f" {statistic:.0f} (between {least:.0f} and {most:.0f} in 999 of 1,000 experiments).",
            fits,
        ),
    )
    return Result({"parameters": table}, findings, lambda figure: _draw_5_4(figure, table))


def estimates(owner: SeededOwner, codes: dict[str, Codes], p: float, runs: int) -> Tensor:
    """Return the raw estimates of Pr(D = 1 | B, C) per run, shape (runs, 4)."""
    plan = data.six_plan(p, "".join(data.family(NODE).nodes))
    columns = {name: codes[name] for name in plan.domain.names}
    return estimates_of(
        EstimatedMarginals(owner.report(plan, columns, index), plan) for index in range(runs)
    )


def estimates_of(reports: Iterable[EstimatedMarginals]) -> Tensor:
    """Return the raw estimates of Pr(D = 1 | B, C) by each run's reports, shape (runs, 4)."""
    learned = (learn_parameters(one, data.family(NODE)).families[-1] for one in reports)
    return np.array([family.estimate[..., 0].ravel() for family in learned])


def clean_of(counts: Tensor) -> Tensor:
    """Return the node's parameters by the counts of its family."""
    shares: Tensor = (counts[..., 0] / counts.sum(axis=-1)).ravel()
    return shares


def theory(counts: Tensor, p: float, *, exact: bool = False) -> Tensor:
    """Return errors given the records by combination of parents; the node's axis is the last."""
    flip = flips(p)
    matrices = [*[flip] * (counts.ndim - 1), np.eye(2) if exact else flip]
    return parameter_errors(counts, matrices)[..., 0].ravel()


def over_runs(counts: Tensor, found: Tensor, errors: Tensor) -> dict[str, Tensor]:
    """Return columns of the parameters: clean, and over the runs, and what theory says."""
    return {
        "clean": clean_of(counts),
        "mean": found.mean(axis=0),
        "sd": found.std(axis=0, ddof=1),
        "theory_sd": errors,
    }


def squared_ratios(table: pd.DataFrame) -> tuple[float, tuple[bool, float, float]]:
    """Return the sum of squared ratios to small errors of theory, and whether it is plausible.

    The four parameters of one run are correlated: the chi-square law is only nearly theirs.
    """
    rows = table[table["theory_sd"] <= 2 * ALMOST_NONE]
    statistic = float(((REPEATS - 1) * (rows["sd"] / rows["theory_sd"]) ** 2).sum())
    return statistic, plausible(statistic, (REPEATS - 1) * len(rows))


def _draw_5_4(figure: Figure, table: pd.DataFrame) -> None:
    axis = figure.subplots()
    colours = (style.BLUE, style.RED, style.GREEN, style.ORANGE)
    for (given, rows), colour, marker in zip(
        table.groupby("given"), colours, style.MARKERS, strict=False
    ):
        style.curve(axis, rows["p"], rows["mean"], colour, marker, f"D = 1 | {given}")
        axis.plot(rows["p"], rows["mean"] + rows["sd"], ":", color=colour, linewidth=1.2)
        low, high = (rows["clean"] + sign * rows["theory_sd"] for sign in (-1, 1))
        axis.fill_between(rows["p"], low, high, color=colour, alpha=0.12, linewidth=0)
        axis.axhline(rows["clean"].iloc[0], color=colour, linewidth=0.8, linestyle="--")
    axis.plot([], [], ":", color=style.BLACK, linewidth=1.2, label="mean + one deviation")
    axis.fill_between([], [], [], color=style.GREY, alpha=0.3, label="clean ± predicted deviation")
    axis.set(
        ylim=(-0.2, 1.2),
        xlim=(0, table["p"].max()),
        xlabel="probability p of a flip",
        ylabel=f"estimated parameter, mean of {REPEATS} runs",
    )
    axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


MA_5_4 = Experiment(
    name="ma-5.4",
    title="Estimated parameters of node D against the randomization parameter",
    source="Ma (2006), figure 5.4",
    run=run_5_4,
    choices=(
        data.SIX_NODES,
        "The ten runs randomize one sample of 5,000; errors are against its own parameters.",
    ),
)


THRESHOLDS = (0.02, 0.04)
RECORDS_5_5 = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000)
LEVELS_5_5 = tuple(round(0.01 * k, 2) for k in range(1, 46))

_MEAN_ABSOLUTE = float(np.sqrt(2 / np.pi))
"""The mean absolute value of a standard normal variable."""


def run_5_5(setting: Setting) -> Result:
    """Raise p until the mean absolute error exceeds each threshold, at every sample size."""
    sizes = RECORDS_5_5[:4] if setting.quick else RECORDS_5_5
    codes = data.six_sample(max(sizes), setting.rng("ma-5.5"))
    owner = SeededOwner.of("ma-5.5", setting.seed, max(sizes))
    rows = []
    for records in setting.steps(sizes, cost=float):
        some = {name: column[:records] for name, column in codes.items()}
        counts = data.counted(some, NODE)
        found = first_above(owner, some, counts)
        rows += [(records, c, found[c], predicted(counts, c)) for c in THRESHOLDS]
    table = pd.DataFrame(rows, columns=["records", "threshold", "p_star", "predicted"])
    claims: list[Finding] = []
    for c in THRESHOLDS:
        own = table[table["threshold"] == c]
        stars = own["p_star"].to_numpy()
        claims.append(
            claim(
                f"c = {c:.0%}: p* grows with the number of records, from {stars[0]:.2f} with"
                f" {sizes[0]:,} to {stars[-1]:.2f} with {sizes[-1]:,}.",
                # Ten runs leave p* some noise: one step back is no contradiction.
                (np.diff(stars) > -0.015).all() and stars[-1] > stars[0],
            )
        )
    off = (table["p_star"] - table["predicted"]).abs().max()
    claims.append(
        claim(
            "The p at which the errors that theorem 5.2 predicts have the mean absolute value c"
            f" differs from p* by {off:.3f} at most, where p moves in steps of 0.01."
        )
    )
    return Result({"p-star": table}, claims, lambda figure: _draw_5_5(figure, table))


def first_above(owner: SeededOwner, codes: dict[str, Codes], counts: Tensor) -> dict[float, float]:
    """Return the smallest p at which the error exceeds each threshold; NaN if none does.

    The error is the mean over ten runs and the four parameters of D of the absolute difference to
    the clean estimate.
    """
    clean = clean_of(counts)
    found: dict[float, float] = dict.fromkeys(THRESHOLDS, np.nan)
    for p in LEVELS_5_5:
        error = float(np.abs(estimates(owner, codes, p, REPEATS) - clean).mean())
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
    choices=(
        data.SIX_NODES,
        (
            "The error is the mean over ten runs and the four parameters of node D of the absolute"
            " difference to the clean estimate; p moves in steps of 0.01."
        ),
    ),
)
