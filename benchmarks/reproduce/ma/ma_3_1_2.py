"""Ma 3.1.2: amplification and breaches of additive noise, beside PRAM that is as accurate.

The value is uniform within its interval, so that the matrix of the intervals is exact, and all
intervals are equally wide, so that an entry depends only on how far apart two of them are.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from benchmarks.reproduce import data
from benchmarks.reproduce.engine import Axes, Experiment, Figure, Finding, Result, Setting
from pramana.setups import SeededOwner, numbered
from pramana_core.channels import RESOLUTION, Dense, Symmetric, Transition
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.marginals.counts import Codes, ReportedCounts, Tensor
from pramana_core.pictures import plots as style
from pramana_core.plan import Block, Plan
from pramana_core.privacy import conditional_entropy

Kind = Literal["uniform", "normal", "Laplace"]
KINDS: tuple[Kind, ...] = ("uniform", "normal", "Laplace")

LEVEL = 0.95
"""The probability with which noise stays within the width that names its strength."""

_REACH = {"uniform": 1.0, "normal": 3.0, "Laplace": 4.0}
"""How many scales beyond the values the reported intervals reach; the last holds what is beyond."""

_LEAST = 0.5 / RESOLUTION
"""Probabilities below are taken for zero where a published matrix is made."""


@dataclass(frozen=True)
class AdditiveNoise:
    """Noise of a kind added to values in `intervals` equal intervals of width `width`.

    `scale` is half the width of uniform noise, the deviation of normal noise and the mean absolute
    value of Laplace noise, in the values' unit.
    """

    kind: Kind
    scale: float
    intervals: int
    width: float

    @classmethod
    def of_width(cls, kind: Kind, covered: float, intervals: int, width: float) -> AdditiveNoise:
        """Build noise that stays within an interval of width `covered` with probability 95 %."""
        half = covered / 2
        scale = {
            "uniform": half / LEVEL,
            "normal": half / float(stats.norm.isf((1 - LEVEL) / 2)),
            "Laplace": half / math.log(1 / (1 - LEVEL)),
        }[kind]
        return cls(kind, scale, intervals, width)

    @property
    def beyond(self) -> int:
        """How many reported intervals lie on each side beyond those of the values."""
        # A last interval that uniform noise only just touches would never be reported.
        return math.ceil(_REACH[self.kind] * self.scale / self.width - 1e-9)

    @property
    def reports(self) -> int:
        """M_1, the number of reported intervals."""
        return self.intervals + 2 * self.beyond

    def matrix(self) -> Tensor:
        """Return P(reported interval | true interval), `intervals` x `reports`.

        Ma 3.1.2 prints M_1 x M_1; the rows are the M_2 intervals that values can be in.
        """
        edge = self._second_tail(np.arange(self.reports + 1, dtype=np.float64) * self.width)
        # The probability of a report d intervals up or more, and of exactly d up.
        further = np.empty(self.reports + 1)
        further[1:] = (edge[:-1] - edge[1:]) / self.width
        further[0] = 1 - further[1]
        exact = np.append(further[1:-1] - further[2:], 0.0)
        true = np.arange(self.intervals)
        away = np.abs(true[:, None] - (np.arange(self.reports) - self.beyond))
        same = 1 - 2 * further[1]
        listed: Tensor = np.where(away == 0, same, exact[np.maximum(away, 1) - 1])
        if self.beyond:
            listed[:, 0] = further[true + self.beyond]
            listed[:, -1] = further[self.intervals - 1 - true + self.beyond]
        return listed

    def _second_tail(self, t: Tensor) -> Tensor:
        """Return the integral from t >= 0 of the probability that noise is larger."""
        z = t / self.scale
        if self.kind == "uniform":
            value: Tensor = self.scale * np.maximum(1 - z, 0) ** 2 / 4
        elif self.kind == "normal":
            value = self.scale * (stats.norm.pdf(z) - z * stats.norm.sf(z))
        else:
            value = self.scale * np.exp(-z) / 2
        return value

    def gammas(self) -> Tensor:
        """Return the amplification of each report: the largest ratio in its column."""
        listed = self.matrix()
        least = listed.min(axis=0)
        ratio = np.full(self.reports, np.inf)
        np.divide(listed.max(axis=0), least, out=ratio, where=least > 0)
        return ratio

    def channel(self) -> Dense:
        """Return the matrix in units of 2^-32: what the miner reads the reports with."""
        listed = np.where(self.matrix() < _LEAST, 0.0, self.matrix())
        return Dense.from_probabilities((listed / listed.sum(axis=1, keepdims=True)).tolist())

    def reported(self, values: Tensor, rng: np.random.Generator) -> npt.NDArray[np.uint8]:
        """Add noise to values and return the numbers of the intervals the sums lie in."""
        noisy = values + self._noise(len(values), rng)
        numbers = np.floor(noisy / self.width).astype(np.int64) + self.beyond
        return np.clip(numbers, 0, self.reports - 1).astype(np.uint8)

    def _noise(self, size: int, rng: np.random.Generator) -> Tensor:
        if self.kind == "uniform":
            return rng.uniform(-self.scale, self.scale, size)
        if self.kind == "normal":
            return rng.normal(0.0, self.scale, size)
        return rng.laplace(0.0, self.scale, size)


RECORDS = 20_000
INTERVALS = 8

RHO_1, RHO_2 = 0.10, 0.50
"""A breach: a prior of at most 10 % becomes 50 % or more, or one of 50 % at most 10 %."""


def prior() -> Tensor:
    """Return the probabilities of the intervals."""
    ends = np.linspace(0, data.SUPPORT, INTERVALS + 1)
    fine = np.array([np.linspace(a, b, 1001) for a, b in itertools.pairwise(ends.tolist())])
    mass = np.trapezoid(data.density(fine), fine, axis=1)
    value: Tensor = mass / mass.sum()
    return value


def noise_errors(setting: Setting, noise: AdditiveNoise, runs: int) -> list[float]:
    """Return by run the share of records that the distribution estimated from noise misplaces."""
    rng = setting.rng("ma-3.1.2", noise.kind, noise.scale)
    plan = Plan((Block((numbered("X", INTERVALS),), noise.channel()),))
    found = []
    for _ in range(runs):
        truth = _sample(rng)
        values = (truth + rng.random(RECORDS)) * noise.width
        reported = ReportedCounts({"X": noise.reported(values, rng)}, plan.reported_sizes)
        found.append(_misplaced(reported, plan, truth))
    return found


def pram_errors(setting: Setting, gamma: float, runs: int, key: str = "curve") -> list[float]:
    """Return the same of intervals randomized by an owner at an amplification."""
    rng = setting.rng("ma-3.1.2", "pram", gamma, key)
    plan = Plan((Block((numbered("X", INTERVALS),), Symmetric.from_gamma(INTERVALS, gamma)),))
    owner = SeededOwner.of(f"ma-3.1.2 {key} {gamma:.6g}", setting.seed, RECORDS)
    found = []
    for index in range(runs):
        truth = _sample(rng)
        found.append(_misplaced(owner.report(plan, {"X": truth}, index), plan, truth))
    return found


def _sample(rng: np.random.Generator) -> Codes:
    return rng.choice(INTERVALS, size=RECORDS, p=prior()).astype(np.uint8)


def _misplaced(reported: ReportedCounts, plan: Plan, truth: Codes) -> float:
    """Return the total variation between the most likely and the true shares."""
    estimate = EstimatedMarginals(reported, plan, estimator="ml").marginal(["X"]).counts
    exact = np.bincount(truth, minlength=INTERVALS)
    return float(np.abs(estimate - exact).sum() / (2 * len(truth)))


def gamma_of_error(curve: dict[float, list[float]], error: float) -> float:
    """Return PRAM's amplification at which its mean error is `error`, between those measured."""
    gammas = np.array(list(curve))
    # The error falls with gamma; where chance has it rise the larger one counts.
    means = np.maximum.accumulate([np.mean(e) for e in reversed(curve.values())])
    found = np.exp(np.interp(np.log(error), np.log(means), np.log(gammas[::-1])))
    return as_published(float(found))


def as_published(gamma: float) -> float:
    """Return an amplification to six digits: it names the stream of its draws, so exactly one."""
    return float(f"{gamma:.6g}")


def breached(matrix: Tensor, before: Tensor) -> tuple[float, float]:
    """Return the shares of records whose reports breach privacy upward and downward (Ma 3.1.2).

    A report does if it breaches any property "the value is in one of these neighbouring intervals".
    """
    size = len(before)
    runs = [range(a, b) for a in range(size) for b in range(a + 1, size + 1) if b - a < size]
    joint = before[:, None] * matrix
    report = joint.sum(axis=0)
    after = np.array([joint[list(r)].sum(axis=0) for r in runs]) / report
    prior_of = np.array([before[list(r)].sum() for r in runs])[:, None]
    # Sums of probabilities are compared: their rounding shall not decide.
    up = ((prior_of <= RHO_1 + 1e-12) & (after >= RHO_2 - 1e-12)).any(axis=0)
    down = ((prior_of >= RHO_2 - 1e-12) & (after <= RHO_1 + 1e-12)).any(axis=0)
    return float(report[up].sum()), float(report[down].sum())


WIDTHS = (0.25, 0.5, 1.0)
"""Widths that hold 95 % of the noise, as shares of the values' range (Agrawal and Srikant)."""

RUNS, QUICK_RUNS = 60, 12
GAMMAS = tuple(as_published(float(g)) for g in np.geomspace(1.1, 100.0, 15))
"""The amplifications at which PRAM's error is measured."""

NEAR_INFINITE = 1_000.0
"""What we call a near infinite amplification; FRAPP's strict privacy is 19."""

MARGIN = 0.9
"""PRAM's error is to be this share of the noise's: it gets no advantage of the curve's noise."""

_PAPERS: tuple[Kind, ...] = ("uniform", "normal")
_ALARM = 1e-3


def run(setting: Setting) -> Result:
    """Measure noise's errors, find the PRAM of the same error and compare what both reveal."""
    noises = [_noise(kind, width) for width in WIDTHS for kind in KINDS]
    runs = QUICK_RUNS if setting.quick else RUNS
    first = len(GAMMAS) / (2 * len(noises) + len(GAMMAS))
    curve = {g: pram_errors(setting, g, runs) for g in setting.steps(GAMMAS, high=first)}
    rows = []
    for (width, kind), noise in setting.steps(zip(_pairs(), noises, strict=True), low=first):
        errors = noise_errors(setting, noise, runs)
        gamma = gamma_of_error(curve, MARGIN * float(np.mean(errors)))
        again = pram_errors(setting, gamma, runs, f"{kind} {width}")
        rows.append(_row(kind, width, noise, errors, gamma, again))
    table = pd.DataFrame(rows)
    means = pd.DataFrame(
        [(g, np.mean(e), stats.sem(e)) for g, e in curve.items()], columns=["gamma", "error", "se"]
    )
    reports = pd.concat([_by_report(k, w, n) for (w, k), n in zip(_pairs(), noises, strict=True)])
    return Result(
        {"same-accuracy": table, "reports": reports, "pram": means},
        (
            *_amplification(table),
            _age(),
            _transaction(),
            as_accurate(table),
            smaller(table),
            *breaches(table),
            _laplace(table),
            _on_average(table),
        ),
        lambda figure: _draw(figure, table, reports, means),
        height=5.2,
    )


def _pairs() -> list[tuple[float, Kind]]:
    return [(width, kind) for width in WIDTHS for kind in KINDS]


def _noise(kind: Kind, share: float) -> AdditiveNoise:
    width = data.SUPPORT / INTERVALS
    return AdditiveNoise.of_width(kind, share * data.SUPPORT, INTERVALS, width)


def _row(
    kind: Kind,
    width: float,
    noise: AdditiveNoise,
    errors: list[float],
    gamma: float,
    again: list[float],
) -> dict[str, float | str]:
    pram = Symmetric.from_gamma(INTERVALS, gamma)
    gammas, share = noise.gammas(), prior() @ noise.matrix()
    return {
        "noise": kind,
        "width": width,
        "least_gamma": gammas.min(),
        "last_gamma": gammas[-1],
        "reports_infinite": float(share[np.isinf(gammas)].sum()),
        "error": float(np.mean(errors)),
        "error_se": float(stats.sem(errors)),
        "pram_gamma": gamma,
        "pram_error": float(np.mean(again)),
        "pram_error_se": float(stats.sem(again)),
        **_revealed("", noise.matrix(), noise.channel()),
        **_revealed("pram_", pram.matrix(), pram),
    }


def _revealed(prefix: str, matrix: Tensor, channel: Transition) -> dict[str, float]:
    upward, downward = breached(matrix, prior())
    return {
        f"{prefix}upward": upward,
        f"{prefix}downward": downward,
        f"{prefix}entropy_bits": conditional_entropy(channel, prior()),
    }


def _by_report(kind: Kind, width: float, noise: AdditiveNoise) -> pd.DataFrame:
    share = prior() @ noise.matrix()
    low = (np.arange(noise.reports) - noise.beyond) * noise.width
    return pd.DataFrame(
        {"noise": kind, "width": width, "low": low, "share": share, "gamma": noise.gammas()}
    )


def _amplification(table: pd.DataFrame) -> list[Finding]:
    uniform, normal = (table[table["noise"] == kind] for kind in _PAPERS)
    shares = ", ".join(
        f"{s:.0%} (noise {w:g} of the range wide)"
        for w, s in zip(uniform["width"], uniform["reports_infinite"], strict=True)
    )
    powers = ", ".join(f"{math.log10(g):.0f}" for g in normal["last_gamma"])
    return [
        Finding(
            bool(np.isinf(uniform["last_gamma"]).all()),
            "Uniform noise: the amplification of the last interval is infinite, for only the"
            f" largest values can be reported there. So are those of {shares} of all reports.",
        ),
        Finding(
            bool((normal["last_gamma"] >= NEAR_INFINITE).all()),
            f"Normal noise: that of the last interval is 10 to the power {powers}, near infinite"
            f" as the paper says (we call {NEAR_INFINITE:,.0f} or more so). The least of all"
            f" intervals is {normal['least_gamma'].iloc[-1]:.3g} with the widest noise.",
        ),
    ]


def _age() -> Finding:
    """1.3.3, example 1: an age of 120 after noise from [-50, 50] is 70 or more."""
    noise = AdditiveNoise("uniform", 50.0, 12, 10.0)
    possible = np.flatnonzero(noise.matrix()[:, 12 + noise.beyond] > 0)
    return Finding(
        int(possible[0]) * 10 == 70,
        "The example of 1.3.3: who reports an age of 120 after uniform noise from [-50, 50] is"
        f" {int(possible[0]) * 10} or older for certain. PRAM on decades of finite amplification"
        " rules no age out.",
    )


def _transaction() -> Finding:
    """1.3.3, example 2: three items kept together are no accident of insertion."""
    kept = 0.01 * 0.2**3
    inserted, of = 10, 10_000
    by_chance = math.comb(of - 3, inserted - 3) / math.comb(of, inserted)
    believed = kept / (kept + 0.99 * by_chance)
    return Finding(
        round(100 * kept, 6) == 0.008 and 100 * by_chance < 1e-7,
        "Its other example: of a set of three items with support 1 %, each replaced with"
        f" probability 80 %, {100 * kept:.3f} % of all transactions keep the set, and"
        f" {100 * by_chance:.1e} % have it by chance among {inserted} items inserted of {of:,}. Who"
        f" reports it had it with probability {believed:.3%}.",
    )


def as_accurate(table: pd.DataFrame) -> Finding:
    """Check that the PRAM compared with is no less accurate, in runs that did not choose it."""
    spread = np.hypot(table["pram_error_se"], table["error_se"])
    z: Tensor = ((table["pram_error"] - table["error"]) / spread).to_numpy()
    limit = float(stats.norm.isf(_ALARM / len(table)))
    ratio = table["pram_error"] / table["error"]
    return Finding(
        None if z.max() <= limit else False,
        "The PRAM held against each noise is as accurate in new runs: it misplaces"
        f" {ratio.min():.2f} to {ratio.max():.2f} times the records"
        f" ({'none' if z.max() <= limit else 'one'} significantly more), by maximum likelihood on"
        f" {INTERVALS} intervals and {RECORDS:,} records.",
    )


def smaller(table: pd.DataFrame) -> Finding:
    """Check that PRAM of the same accuracy amplifies less than uniform and normal noise."""
    rows = table[table["noise"].isin(_PAPERS)]
    least = rows[["least_gamma", "last_gamma"]].max(axis=1)
    listed = "; ".join(
        f"{r['noise']} {r['width']:g}: {r['pram_gamma']:.3g} (both misplace {r['error']:.1%})"
        for _, r in rows.iterrows()
    )
    return Finding(
        bool((rows["pram_gamma"] < least).all()),
        "Discretization and then PRAM has the smaller amplification at the same accuracy: "
        f"{listed}.",
    )


def breaches(table: pd.DataFrame) -> list[Finding]:
    """Check that fewer of its reports breach privacy, upward and downward."""
    rows = table[table["noise"].isin(_PAPERS)]
    found = []
    for way, words in (
        ("upward", f"a prior of up to {RHO_1:.0%} becomes {RHO_2:.0%} or more"),
        ("downward", f"one of {RHO_2:.0%} or more becomes {RHO_1:.0%} or less"),
    ):
        listed = "; ".join(
            f"{r['noise']} {r['width']:g}: {r[way]:.1%} against {r['pram_' + way]:.1%}"
            for _, r in rows.iterrows()
        )
        found.append(
            Finding(
                bool((rows[f"pram_{way}"] <= rows[way]).all() and (rows[way] > 0).any()),
                f"PRAM limits more {way} breaches ({words}, of neighbouring intervals). Reports"
                f" that breach, noise against PRAM of the same accuracy: {listed}.",
            )
        )
    return found


def _laplace(table: pd.DataFrame) -> Finding:
    rows = table[table["noise"] == "Laplace"]
    listed = "; ".join(
        f"{r['width']:g}: at most {r['last_gamma']:.3g}, PRAM {r['pram_gamma']:.3g}"
        for _, r in rows.iterrows()
    )
    return Finding(
        None,
        "Not all additive noise amplifies without bound: Laplace's largest is e to the range over"
        f" its scale. PRAM has less at the same accuracy: {listed}.",
    )


def _on_average(table: pd.DataFrame) -> Finding:
    rows = table[table["noise"].isin(_PAPERS)]
    listed = "; ".join(
        f"{r['noise']} {r['width']:g}: {r['entropy_bits']:.2f} against {r['pram_entropy_bits']:.2f}"
        for _, r in rows.iterrows()
    )
    more = int((rows["pram_entropy_bits"] > rows["entropy_bits"]).sum())
    return Finding(
        None,
        f"On average PRAM keeps more, too, in {more} of {len(rows)} cases: bits of conditional"
        f" entropy, noise against PRAM of the same accuracy: {listed}.",
    )


_LOOKS = {
    "uniform": (style.BLUE, "o"),
    "normal": (style.ORANGE, "s"),
    "Laplace": (style.GREEN, "^"),
}


def _draw(figure: Figure, table: pd.DataFrame, reports: pd.DataFrame, means: pd.DataFrame) -> None:
    left, right = figure.subplots(1, 2)
    _panel_of_reports(left, table, reports)
    _panel_of_accuracy(right, table, means)


def _panel_of_reports(axis: Axes, table: pd.DataFrame, reports: pd.DataFrame) -> None:
    top = 1e12
    width = data.SUPPORT / INTERVALS
    for kind, (colour, marker) in _LOOKS.items():
        rows = reports[(reports["noise"] == kind) & (reports["width"] == WIDTHS[1])]
        shown = rows["gamma"].clip(upper=top)
        at = rows["low"] + width / 2
        axis.plot(at, shown, color=colour, marker=marker, markersize=6, label=f"{kind} noise")
        pram = table[(table["noise"] == kind) & (table["width"] == WIDTHS[1])]["pram_gamma"]
        axis.axhline(
            float(pram.iloc[0]), color=colour, linestyle="--", linewidth=1,
            label=f"PRAM as accurate as {kind}",
        )  # fmt: skip
    axis.axvspan(0, data.SUPPORT, color="#f3f3f3", zorder=0)
    axis.set(yscale="log", ylim=(1, top * 30))
    axis.set_yticks([1, 1e3, 1e6, 1e9, top], ["1", "10³", "10⁶", "10⁹", "10¹² or\nmore, ∞"])
    axis.minorticks_off()
    axis.set(
        xlabel="reported interval (grey: where values can be)",
        ylabel="amplification γ",
        title=f"(a) noise {WIDTHS[1]:g} of the range wide",
    )
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), fontsize=9, ncols=2)


def _panel_of_accuracy(axis: Axes, table: pd.DataFrame, means: pd.DataFrame) -> None:
    top = 1e12
    axis.errorbar(
        means["gamma"], means["error"], 2 * means["se"], color=style.BLACK, marker="D",
        markersize=4, capsize=2, label="discretized, then PRAM",
    )  # fmt: skip
    for kind, (colour, marker) in _LOOKS.items():
        rows = table[table["noise"] == kind]
        worst = rows[["least_gamma", "last_gamma"]].max(axis=1).clip(upper=top)
        axis.errorbar(
            worst, rows["error"], 2 * rows["error_se"], color=colour, marker=marker, capsize=2,
            linestyle="none", markersize=7, label=f"{kind} noise",
        )  # fmt: skip
    axis.set(xscale="log", yscale="log", xlim=(1, top * 5))
    axis.set_xticks([1, 1e3, 1e6, 1e9, top], ["1", "10³", "10⁶", "10⁹", "≥ 10¹², ∞"])
    axis.minorticks_off()
    axis.set_yticks([0.003, 0.01, 0.03, 0.1, 0.3], ["0.3 %", "1 %", "3 %", "10 %", "30 %"])
    axis.set(
        xlabel="largest amplification γ of a report",
        ylabel="records misplaced",
        title="(b) accuracy and amplification",
    )
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), fontsize=9, ncols=2)


EXPERIMENT = Experiment(
    name="ma-3.1.2",
    title="Additive noise beside discretization and PRAM of the same accuracy",
    source="Ma (2006), 3.1.2 and 1.3.3",
    run=run,
    choices=(
        (
            "The paper compares in words. Here: two triangles of values in"
            f" {INTERVALS} equal intervals, uniform within each, which makes the noise's matrix"
            f" exact and so favours it; {RECORDS:,} records, {RUNS} runs ({QUICK_RUNS} with"
            " --quick)."
        ),
        (
            "Strengths of noise are the widths that hold 95 % of it: 0.25, 0.5 and 1 of the range"
            " of values (Agrawal and Srikant's measure). Reported intervals go on for three"
            " deviations of normal noise and four scales of Laplace's; the last ones hold what is"
            " beyond."
        ),
        (
            f"PRAM's amplification is that at which its error is {MARGIN:g} of the noise's, so"
            " that it is not the less accurate by chance."
        ),
        (
            "The paper's M1 x M1 matrix has a row for each interval of the values, of which there"
            " are M2."
        ),
    ),
)
