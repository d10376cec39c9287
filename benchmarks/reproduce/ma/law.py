"""Ma figure 5.1: the law of an estimated parameter, by two approximations and by simulation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.reproduce.engine import Axes, Claim, Figure, Result, Setting
from benchmarks.reproduce.networks import covariance, flips
from pramana_core.marginals.counts import Tensor
from pramana_core.pictures import plots as style
from pramana_core.ties import first_largest

P_A, RECORDS_A = (0.1, 0.2, 0.25, 0.3, 0.35, 0.4), 8_000
P_B, RECORDS_B = 0.25, (1_000, 2_000, 4_000, 8_000, 16_000, 32_000)

DRAWS = 200_000

CLOSE = 0.02
"""The largest error of a probability in a good approximation."""


@dataclass(frozen=True)
class RatioOfNormals:
    """W = X1 / X2 for normal variables with correlation `rho`, where X2 is almost surely positive.

    The density and the normal deviate are Hinkley's (Ma 5.4.1). The text does not define the
    constant c; here it is the quadratic form of the inverse correlation matrix at the means.
    """

    means: tuple[float, float]
    deviations: tuple[float, float]
    rho: float

    @classmethod
    def of_parameter(cls, counts: Tensor, p: float) -> RatioOfNormals:
        """Return the law of N^_111 / N^_11 if both variables are flipped; X2 is in rows."""
        full = covariance(counts, [flips(p)] * 2)
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


def run_5_1(setting: Setting) -> Result:
    """Compare both approximations with simulated estimates over p and the count of records."""
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
    return Result(
        {"deviations": table}, _law_claims(table), lambda figure, *_: _draw_law(figure, setting)
    )


def _law_claims(table: pd.DataFrame) -> Iterator[Claim]:
    by_p, by_records = (table[table["part"] == part]["simulated_sd"].to_numpy() for part in "ab")
    yield Claim(
        f"(a) The variance of the estimator increases with p: with {RECORDS_A:,} records the"
        f" simulated standard deviation goes from {by_p[0]:.4f} at p = {P_A[0]} to"
        f" {by_p[-1]:.4f} at p = {P_A[-1]}.",
        (np.diff(by_p) > 0).all(),
    )
    yield Claim(
        f"(b) It decreases with the number of records: at p = {P_B} from {by_records[0]:.4f}"
        f" with {RECORDS_B[0]:,} to {by_records[-1]:.4f} with {RECORDS_B[-1]:,}.",
        (np.diff(by_records) < 0).all(),
    )
    for column, name in (
        ("hinkley_off", "Hinkley's form for the ratio of two normal variables"),
        ("normal_off", "The normal approximation"),
    ):
        worst = table.iloc[first_largest(table[column], scale=1.0)]
        yield Claim(
            f"{name} works well: its distribution function is nowhere farther than"
            f" {worst[column]:.3f} from that of the simulated estimates (worst at p ="
            f" {worst['p']:g}, N = {worst['records']:,.0f}; we call up to {CLOSE} good).",
            worst[column] <= CLOSE,
        )
    first = RatioOfNormals.of_parameter(equal(RECORDS_A), P_A[0])
    derived = first.normal_deviation / by_p[0]
    printed = derived * first.means[1] / first.means[0]
    yield Claim(
        "The variance printed in 5.4.2 divides by N_ijk squared; as printed the standard"
        f" deviation is {printed:.2f} times the simulated one. Divided by N_ij squared, as"
        f" 5.4.1 derives it, {derived:.2f} times.",
        abs(printed - 1) <= 0.05,
    )


def equal(records: int) -> Tensor:
    """Return the four equal counts of 5.4.3."""
    return np.full((2, 2), records / 4)


def simulate(p: float, records: int, draws: int, rng: np.random.Generator) -> Tensor:
    """Return estimates of theta_111 from counts drawn by theorem 5.1 (b).

    One multinomial draw distributes the records of each true cell over the four reported cells.
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
    """Return the largest distance between a distribution function and that of a sorted sample.

    Estimates from few records repeat values, so the distance is taken at the middle of each step.
    """
    _, first, times = np.unique(ordered, return_index=True, return_counts=True)
    middle = (first + times / 2) / len(ordered)
    return float(np.abs(cdf[first] - middle).max())


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
