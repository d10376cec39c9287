"""FRAPP figure 3: RAN-GD over the whole range of its randomization parameter alpha."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.reproduce.engine import Axes, Experiment, Figure, Finding, Result, Setting, bars
from benchmarks.reproduce.frapp.data import CENSUS_FILES, CLOSED_LEFT, GAMMA, RHO_1, Survey, census
from benchmarks.reproduce.frapp.mechanisms import (
    APRIORI,
    QUICK_RUNS,
    RUNS,
    Mechanism,
    det_gd,
    one_run,
)
from pramana.setups.owner import SeededOwner
from pramana_core.channels import RESOLUTION, RandomSymmetric
from pramana_core.domain import Domain
from pramana_core.marginals.counts import Tensor
from pramana_core.pictures import plots as style
from pramana_core.plan import Block, Plan
from pramana_core.privacy import Amplification, posterior_range
from pramana_core.ties import first_smallest

LENGTH = 4
"""The itemsets of figure 3 (b)."""

_NOISE = 1e-3


def run(setting: Setting) -> Result:
    """Compute the posteriors' range and measure the support error at every alpha."""
    survey = census(setting)
    ranges = posteriors(survey.domain, 11 if setting.quick else 41)
    errors = _errors(setting, survey)
    return Result(
        {"posteriors": ranges, "errors": errors},
        (_no_trend(errors), _no_gain(ranges)),
        lambda figure: _draw(figure, ranges, errors),
    )


def channel(domain: Domain, share: float) -> RandomSymmetric:
    """Return RAN-GD over a whole record with alpha = `share` gamma x (FRAPP 4.1)."""
    return RandomSymmetric.around_gamma(domain.size, GAMMA, share)


def posteriors(domain: Domain, steps: int) -> pd.DataFrame:
    """Return by alpha the range of posteriors of records' own matrices, and the miner's posterior.

    The miner averages over the matrices a record may have had.
    """
    rows = []
    for share in np.linspace(0, 1, steps).tolist():
        made = channel(domain, share)
        low, high = posterior_range(made, RHO_1)
        spread = np.linspace(-made.spread_units, made.spread_units, 201)
        off = (made.off_units + spread) / RESOLUTION
        ratio = float(np.mean(1 - (made.size - 1) * off) / np.mean(off))
        rows.append((share, low, high, Amplification.of_gamma(ratio).grown(RHO_1)))
    return pd.DataFrame(rows, columns=["alpha_share", "low", "high", "miner"])


def _errors(setting: Setting, survey: Survey) -> pd.DataFrame:
    """Return the support error of itemsets of four by alpha and run; alpha NaN is DET-GD."""
    runs, steps = (QUICK_RUNS, 3) if setting.quick else (RUNS, 11)
    owner = SeededOwner.of("frapp-3", setting.seed, survey.records)
    block = tuple(survey.domain)
    points = [(float("nan"), det_gd(survey.domain))] + [
        (share, Mechanism("RAN-GD", Plan((Block(block, channel(survey.domain, share)),))))
        for share in np.linspace(0, 1, steps).tolist()
    ]
    rows = []
    for done, (share, mechanism) in setting.steps(enumerate(points)):
        for index in range(runs):
            # Keys differ by point too: alphas of neighbours must not share draws.
            found = one_run(owner, survey, mechanism, done * runs + index)
            mined = found[found["mining"] == APRIORI].set_index("length")
            error = mined.at[LENGTH, "support_error"]
            rows.append((share, index, error))
    return pd.DataFrame(rows, columns=["alpha_share", "run", "support_error"])


def _no_trend(errors: pd.DataFrame) -> Finding:
    """ "RAN-GD does not deviate much from the deterministic case over the entire range" (7.1)."""
    groups = [values for _, values in _by_alpha(errors)]
    p_value = float(stats.f_oneway(*groups).pvalue)
    means = [group.mean() for group in groups]
    trend = "does not depend" if p_value >= _NOISE else "depends"
    return Finding(
        p_value >= _NOISE,
        f"The support error of RAN-GD at length {LENGTH} {trend} on alpha: means of"
        f" {min(means):.3g} to {max(means):.3g} %, DET-GD among them; analysis of variance,"
        f" p = {p_value:.2g}.",
    )


def _by_alpha(errors: pd.DataFrame) -> list[tuple[float, Tensor]]:
    """Return the errors of the runs by alpha, DET-GD (NaN) first."""
    values = errors.pivot(index="run", columns="alpha_share", values="support_error")
    made = [(float("nan"), values[np.nan].to_numpy(dtype=np.float64))]
    shares = [float(share) for share in values.columns if not np.isnan(share)]
    return made + [(share, values[share].to_numpy(dtype=np.float64)) for share in shares]


def _standard_error(values: Tensor) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


def _no_gain(ranges: pd.DataFrame) -> Finding:
    """ "Its worst case (determinable) privacy breach is only 33 % as compared to 50 %" (7.1)."""
    plain = ranges.iloc[0]
    half = ranges.iloc[first_smallest((ranges["alpha_share"] - 0.5).abs(), scale=1.0)]
    gained = bool(half["miner"] < plain["miner"] - 0.005)
    return Finding(
        gained,
        f"The paper counts {half['low']:.0%} as the worst breach that the miner can determine,"
        f" instead of {plain['miner']:.0%}. But the miner, who does not know a record's own matrix,"
        f" averages over those it may have had, and the worst posterior is {half['miner']:.0%}:"
        f" RAN-GD adds {'' if gained else 'no '}privacy against the miner.",
    )


def _draw(figure: Figure, ranges: pd.DataFrame, errors: pd.DataFrame) -> None:
    left, right = figure.subplots(1, 2)
    left.fill_between(
        ranges["alpha_share"], 100 * ranges["low"], 100 * ranges["high"], color=style.SKY, alpha=0.4
    )
    for column, name in (("high", "largest, r = α"), ("low", "smallest, r = −α")):
        dash = "-" if column == "high" else "--"
        left.plot(ranges["alpha_share"], 100 * ranges[column], dash, color=style.BLUE, label=name)
    left.plot(
        ranges["alpha_share"],
        100 * ranges["miner"],
        ":",
        color=style.BLACK,
        label="the miner's, at worst",
    )
    left.set(title="(a) posterior of a 5 % property", ylabel="percent", ylim=(0, 100))
    left.legend(loc="upper left")
    _draw_errors(right, errors)
    for axis in (left, right):
        axis.set_xlabel("α / γx")


def _draw_errors(axis: Axes, errors: pd.DataFrame) -> None:
    (_, exact), *random = _by_alpha(errors)
    middle, spread = float(exact.mean()), 2 * _standard_error(exact)
    axis.axhspan(middle - spread, middle + spread, color=style.GREY, alpha=0.25)
    axis.axhline(middle, color=style.GREY, linestyle="--", label="DET-GD, ± 2 s.e.")
    shares = [share for share, _ in random]
    means = [float(values.mean()) for _, values in random]
    error = [2 * _standard_error(values) for _, values in random]
    bars(axis, shares, means, error, style.BLUE, "o", "RAN-GD, ± 2 s.e.", capsize=3)
    axis.set(
        ylim=(0, None), title=f"(b) support error, itemsets of {LENGTH}, CENSUS", ylabel="percent"
    )
    axis.legend(loc="lower right")


EXPERIMENT = Experiment(
    name="frapp-3",
    title="RAN-GD over the range of alpha: posteriors and support error",
    source="FRAPP (2005), figure 3 (a) and (b)",
    run=run,
    needs_data=CENSUS_FILES,
    choices=(CLOSED_LEFT,),
)
