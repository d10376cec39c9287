"""FRAPP on matrices: RAN-GD's alpha (figure 3), and condition numbers (figure 4)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.reproduce.engine import (
    Axes,
    Claim,
    Figure,
    Result,
    Setting,
    bars,
    curves,
)
from benchmarks.reproduce.frapp.mining import (
    CENSUS,
    GAMMA,
    HEALTH,
    LOOKS,
    QUICK_RUNS,
    RHO_1,
    RUNS,
    Mechanism,
    census,
    det_gd,
    frequent,
    one_run,
    papers_mechanisms,
)
from benchmarks.reproduce.tables import TrueRecords, domain_of
from pramana.setups import SeededOwner
from pramana_core.channels import CONDITION_LIMIT, RESOLUTION, OneHot, RandomSymmetric, Symmetric
from pramana_core.domain import Domain
from pramana_core.errors import PlanError
from pramana_core.pictures import plots as style
from pramana_core.plan import Block, Plan
from pramana_core.privacy import Amplification, posterior_range
from pramana_core.ties import first_smallest

LENGTH = 4
"""The itemsets of figure 3 (b)."""

_NOISE = 1e-3


def run_3(setting: Setting) -> Result:
    """Compute the posteriors' range and measure the support error at every alpha."""
    survey = census(setting)
    ranges = posteriors(survey.domain, 11 if setting.quick else 41)
    errors = _errors(setting, survey)
    return Result(
        {"posteriors": ranges, "errors": errors},
        (*_trend_claim(errors), *_gain_claim(ranges)),
        _draw_3,
    )


def random_channel(domain: Domain, share: float) -> RandomSymmetric:
    """Return RAN-GD over a whole record with alpha = `share` gamma x (FRAPP 4.1)."""
    return RandomSymmetric.around_gamma(domain.size, GAMMA, share)


def posteriors(domain: Domain, steps: int) -> pd.DataFrame:
    """Return by alpha the range of posteriors of records' own matrices, and the miner's posterior.

    The miner averages over the matrices a record may have had.
    """
    rows = []
    for share in np.linspace(0, 1, steps).tolist():
        made = random_channel(domain, share)
        low, high = posterior_range(made, RHO_1)
        spread = np.linspace(-made.spread_units, made.spread_units, 201)
        off = (made.off_units + spread) / RESOLUTION
        ratio = float(np.mean(1 - (made.size - 1) * off) / np.mean(off))
        rows.append((share, low, high, Amplification.of_gamma(ratio).grown(RHO_1)))
    return pd.DataFrame(rows, columns=["alpha_share", "low", "high", "miner"])


def _errors(setting: Setting, survey: TrueRecords) -> pd.DataFrame:
    """Return the support error of itemsets of four by alpha and run; alpha NaN is DET-GD."""
    runs, steps = (QUICK_RUNS, 3) if setting.quick else (RUNS, 11)
    owner = SeededOwner.of("frapp-3", setting.seed, survey.size)
    truth, block = frequent(survey), tuple(survey.domain)
    points = [(float("nan"), det_gd(survey.domain))] + [
        (share, Mechanism("RAN-GD", Plan((Block(block, random_channel(survey.domain, share)),))))
        for share in np.linspace(0, 1, steps).tolist()
    ]
    rows = []
    for done, (share, mechanism) in setting.steps(enumerate(points)):
        for index in range(runs):
            # Keys differ by point too: alphas of neighbours must not share draws.
            mined = one_run(owner, survey, truth, mechanism, done * runs + index)
            error = mined.set_index("length").at[LENGTH, "support_error"]
            rows.append((share, index, error))
    return pd.DataFrame(rows, columns=["alpha_share", "run", "support_error"])


def _trend_claim(errors: pd.DataFrame) -> Iterator[Claim]:
    """ "RAN-GD does not deviate much from the deterministic case over the entire range" (7.1)."""
    groups = errors.groupby("alpha_share", dropna=False)["support_error"]
    p_value = float(stats.f_oneway(*(values for _, values in groups)).pvalue)
    means = groups.mean()
    trend = "does not depend" if p_value >= _NOISE else "depends"
    yield Claim(
        f"The support error of RAN-GD at length {LENGTH} {trend} on alpha: means of"
        f" {means.min():.3g} to {means.max():.3g} %, DET-GD among them; analysis of variance,"
        f" p = {p_value:.2g}.",
        p_value >= _NOISE,
    )


def _gain_claim(ranges: pd.DataFrame) -> Iterator[Claim]:
    """ "Its worst case (determinable) privacy breach is only 33 % as compared to 50 %" (7.1)."""
    plain = ranges.iloc[0]
    half = ranges.iloc[first_smallest((ranges["alpha_share"] - 0.5).abs(), scale=1.0)]
    gained = bool(half["miner"] < plain["miner"] - 0.005)
    yield Claim(
        f"The paper counts {half['low']:.0%} as the worst breach that the miner can determine,"
        f" instead of {plain['miner']:.0%}. But the miner, who does not know a record's own matrix,"
        f" averages over those it may have had, and the worst posterior is {half['miner']:.0%}:"
        f" RAN-GD adds {'' if gained else 'no '}privacy against the miner.",
        gained,
    )


def _draw_3(figure: Figure, ranges: pd.DataFrame, errors: pd.DataFrame) -> None:
    left, right = figure.subplots(1, 2)
    at, low, high, miner = (
        ranges["alpha_share"],
        *(100 * ranges[name] for name in ("low", "high", "miner")),
    )
    left.fill_between(at, low, high, color=style.SKY, alpha=0.4)
    left.plot(at, high, "-", color=style.BLUE, label="largest, r = α")
    left.plot(at, low, "--", color=style.BLUE, label="smallest, r = −α")
    left.plot(at, miner, ":", color=style.BLACK, label="the miner's, at worst")
    left.set(title="(a) posterior of a 5 % property", ylabel="percent", ylim=(0, 100))
    left.legend(loc="upper left")
    _draw_errors(right, errors)
    for axis in (left, right):
        axis.set_xlabel("α / γx")


def _draw_errors(axis: Axes, errors: pd.DataFrame) -> None:
    groups = errors.groupby("alpha_share", dropna=False)["support_error"]
    found = groups.agg(mean="mean", error="sem").reset_index()
    found["error"] *= 2
    (exact,) = found[found["alpha_share"].isna()].to_dict("records")
    low, high = exact["mean"] - exact["error"], exact["mean"] + exact["error"]
    axis.axhspan(low, high, color=style.GREY, alpha=0.25)
    axis.axhline(exact["mean"], color=style.GREY, linestyle="--", label="DET-GD, ± 2 s.e.")
    rows = found.dropna()
    look = (style.BLUE, "o", "-")
    words = "RAN-GD, ± 2 s.e."
    bars(axis, rows["alpha_share"], rows["mean"], rows["error"], look, words, capsize=3)
    axis.set(
        ylim=(0, None), title=f"(b) support error, itemsets of {LENGTH}, CENSUS", ylabel="percent"
    )
    axis.legend(loc="lower right")


PRINTED_P = {"CENSUS": 0.5610, "HEALTH": 0.5524}
PRINTED_RANGE = (33, 60)
"""Percent, at alpha = gamma x / 2 and a prior of 5 % (FRAPP 4.1)."""

AND = " and "

PRINTED_ORDERS = {"MASK": 5, "C&P": 7}
"""Powers of ten of the condition numbers in the authors' experiments (FRAPP 3)."""


def run_4(setting: Setting) -> Result:  # noqa: ARG001 - nothing is drawn at random
    """Compute all condition numbers and the parameters; no data is needed."""
    domains = {"CENSUS": domain_of(CENSUS), "HEALTH": domain_of(HEALTH)}
    rows = [
        (data, mechanism.name, length, condition(mechanism, domain.names[:length]))
        for data, domain in domains.items()
        for mechanism in papers_mechanisms(domain)
        for length in range(1, len(domain) + 1)
    ]
    table = pd.DataFrame(rows, columns=["data", "mechanism", "length", "condition"])
    claims = _condition_claims(domains, table)
    return Result({"conditions": table}, claims, _draw_4)


def _condition_claims(domains: Mapping[str, Domain], table: pd.DataFrame) -> Iterator[Claim]:
    for data, domain in domains.items():
        closed = 1 + domain.size / (GAMMA - 1)
        values = [c for name in ("DET-GD", "RAN-GD") for c in _of(table, data, name).values()]
        off = max(abs(value / closed - 1) for value in values)
        yield Claim(
            f"{data}: the condition number of DET-GD and RAN-GD is 1 + |S|/(gamma - 1) ="
            f" {closed:.1f} at every length (largest relative difference {off:.1e}: RAN-GD's"
            " probabilities are multiples of 2^-32).",
            off < 1e-3,
        )
    for data, domain in domains.items():
        mask = next(m for m in papers_mechanisms(domain) if m.name == "MASK")
        p = 1 - mask.plan.blocks[0].channel.as_dict()["flip"] / RESOLUTION
        yield Claim(
            f"{data}: MASK of gamma {GAMMA:g} keeps an item with probability {p:.4f}; the paper"
            f" prints {PRINTED_P[data]:.4f}.",
            round(p, 4) == PRINTED_P[data],
        )
    low, high = (100 * b for b in posterior_range(random_channel(domains["CENSUS"], 0.5), RHO_1))
    yield Claim(
        f"RAN-GD at alpha = gamma x / 2 takes a prior of {RHO_1:.0%} to {low:.1f} to"
        f" {high:.1f} %; the paper prints {PRINTED_RANGE[0]} to {PRINTED_RANGE[1]} %.",
        (round(low), round(high)) == PRINTED_RANGE,
    )
    for name, printed in PRINTED_ORDERS.items():  # 3
        reached = {data: list(_finite(table, data, name).items())[-1] for data in domains}
        within = [d for d, (_, v) in reached.items() if math.floor(math.log10(v)) == printed]
        texts = (f"{value:.2g} at length {k} of {data}" for data, (k, value) in reached.items())
        yield Claim(
            f"{name}: condition numbers of order 10^{printed}, the paper says, without naming the"
            f" data. We find up to {AND.join(texts)}, the longest that can be inverted, so"
            f" {f'on {AND.join(within)}' if within else 'on none'}.",
            within,
        )
    for name in ("MASK", "C&P"):  # every length multiplies it by 5 or more
        factors = [
            b / a
            for data in domains
            for a, b in itertools.pairwise(_finite(table, data, name).values())
        ]
        yield Claim(
            f"{name}: the condition number grows exponentially, by a factor of {min(factors):.1f}"
            f" to {max(factors):.1f} with each item.",
            min(factors) > 5,
        )


def condition(mechanism: Mechanism, names: Sequence[str]) -> float:
    """Return the condition number of the matrix that estimates itemsets over some variables.

    The matrices are the paper's: MASK's is the product of its 2 x 2 matrices per item, that of cut
    and paste is over partial supports.
    """
    product = 1.0
    for block in mechanism.plan.blocks:
        inside = [name for name in names if name in block.names]
        if not inside:
            continue
        channel = block.restrict(inside)
        if channel is None:
            raise PlanError(f"Block {block.name!r} has no channel over {inside} alone.")
        if isinstance(channel, OneHot):
            channel = Symmetric.from_probability(2, channel.flip_units / RESOLUTION)
        product *= channel.condition_number
    return product if product <= CONDITION_LIMIT else math.inf


def _of(table: pd.DataFrame, data: str, name: str) -> dict[int, float]:
    """Return a mechanism's condition numbers by length; infinite where there is no inverse."""
    rows = table[(table["data"] == data) & (table["mechanism"] == name)]
    return dict(zip(rows["length"].tolist(), rows["condition"].tolist(), strict=True))


def _finite(table: pd.DataFrame, data: str, name: str) -> dict[int, float]:
    return {k: value for k, value in _of(table, data, name).items() if math.isfinite(value)}


def _draw_4(figure: Figure, table: pd.DataFrame) -> None:
    panels = figure.subplots(1, 2, sharey=True)
    finite = table[np.isfinite(table["condition"])]
    for axis, data, part in zip(panels, PRINTED_P, "ab", strict=True):
        rows = finite[finite["data"] == data]
        curves(axis, rows, "length", "condition", "mechanism", looks=LOOKS)
        axis.set(
            yscale="log",
            title=f"({part}) {data}",
            xlabel="itemset length (C&P: no inverse for longer ones)",
            xticks=sorted(set(rows["length"])),
        )
    panels[0].set_ylabel("condition number")
    panels[0].legend(loc="upper left")
