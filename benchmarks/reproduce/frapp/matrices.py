"""FRAPP on matrices: the least condition number (equation 18), RAN-GD's alpha (figure 3), and the
condition numbers of the mechanisms with the printed parameters (figure 4)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.reproduce.engine import Axes, Experiment, Figure, Finding, Result, Setting, bars
from benchmarks.reproduce.frapp.data import (
    CENSUS,
    CENSUS_FILES,
    CLOSED_LEFT,
    GAMMA,
    HEALTH,
    RHO_1,
    Survey,
    census,
    domain_of,
)
from benchmarks.reproduce.frapp.mechanisms import (
    APRIORI,
    QUICK_RUNS,
    RUNS,
    Mechanism,
    det_gd,
    one_run,
    papers_mechanisms,
)
from pramana.setups import SeededOwner
from pramana_core.channels import CONDITION_LIMIT, RESOLUTION, OneHot, RandomSymmetric, Symmetric
from pramana_core.domain import Domain
from pramana_core.errors import PlanError
from pramana_core.marginals.counts import Tensor
from pramana_core.pictures import plots as style
from pramana_core.plan import Block, Plan
from pramana_core.privacy import Amplification, posterior_range
from pramana_core.ties import first_smallest

GAMMAS = (3.0, GAMMA)
ORDERS = (4, 16, 64, 256, 1024)
"""Powers of 4, in which regular symmetric Hadamard matrices are easily made."""

TRIALS, QUICK_TRIALS = 4_000, 400
_SIZES = (2, 3, 4, 6, 8)
_ROUNDING = 1e-9


def run_18(setting: Setting) -> Result:
    """Search positive definite matrices at random, and build indefinite ones."""
    trials = QUICK_TRIALS if setting.quick else TRIALS
    ratios = searched(setting, trials)
    table = pd.DataFrame(
        [
            (g, n, least_positive(n, g), condition_number(hadamard_channel(n, g)))
            for g in GAMMAS
            for n in ORDERS
        ],
        columns=["gamma", "size", "gamma_diagonal", "hadamard"],
    )
    setting.progress(1.0)
    return Result(
        {"conditions": table},
        (definite(ratios), *(symmetric(table, g) for g in GAMMAS)),
        lambda figure: _draw_18(figure, table),
        facts={"trials": trials, "positive_definite": len(ratios)},
    )


def least_positive(size: int, gamma: float) -> float:
    """Return (gamma + n - 1) / (gamma - 1), the gamma-diagonal matrix's (equation 18)."""
    return (gamma + size - 1) / (gamma - 1)


def condition_number(matrix: Tensor) -> float:
    """Return a symmetric matrix's condition number in the 2-norm."""
    sizes = np.abs(np.linalg.eigvalsh(matrix))
    return float(sizes.max() / sizes.min())


def amplification(matrix: Tensor) -> float:
    """Return the largest ratio within a column."""
    return float((matrix.max(axis=0) / matrix.min(axis=0)).max())


def searched(setting: Setting, trials: int) -> list[float]:
    """Return, of random positive definite matrices, the condition number over equation 18's.

    Random symmetric matrices are scaled until their rows sum to 1 and taken at their own
    amplification; half of them are near the gamma-diagonal one.
    """
    rng = setting.rng("frapp-18")
    found = []
    for trial in setting.steps(range(trials), high=0.8):
        size = int(rng.choice(_SIZES))
        made = rng.uniform(1, rng.choice([2.0, 5.0, GAMMA]), (size, size))
        if trial % 2:
            made = 1 + 0.1 * made
            made[np.diag_indices(size)] *= rng.uniform(2, GAMMA)
        matrix = balanced((made + made.T) / 2)
        if np.linalg.eigvalsh(matrix).min() > _ROUNDING:
            found.append(condition_number(matrix) / least_positive(size, amplification(matrix)))
    return found


def balanced(matrix: Tensor) -> Tensor:
    """Scale rows and columns of a positive symmetric matrix alike until all sum to 1."""
    scale = np.ones(len(matrix))
    for _ in range(200):
        scale = np.sqrt(scale / (matrix @ scale))
    value: Tensor = scale[:, None] * matrix * scale
    return value


def hadamard_channel(size: int, gamma: float) -> Tensor:
    """Return the symmetric channel with gamma x and x where a regular Hadamard matrix has 1 and -1.

    Its rows have more entries of -1, and its eigenvalues but one are equal in size and of both
    signs. `size` is a power of 4.
    """
    base = 2 * np.eye(4) - np.ones((4, 4))
    signs: Tensor = np.ones((1, 1))
    while len(signs) < size:
        signs = np.kron(signs, base).astype(np.float64)
    if signs[0].sum() > 0:
        signs = -signs
    made = np.where(signs > 0, gamma, 1.0)
    value: Tensor = made / made[0].sum()
    return value


def definite(ratios: list[float]) -> Finding:
    """Check that no positive definite matrix is below equation 18."""
    return Finding(
        min(ratios) >= 1 - 1e-6,
        "The gamma-diagonal matrix has the least condition number of the positive definite ones:"
        f" of {len(ratios):,} drawn at random none is below (gamma + n - 1) / (gamma - 1); the"
        f" nearest is {min(ratios):.3f} times that.",
    )


def symmetric(table: pd.DataFrame, gamma: float) -> Finding:
    """Check that no symmetric matrix is, definite or not, as the paper concludes."""
    rows = table[table["gamma"] == gamma]
    below = rows[rows["hadamard"] < rows["gamma_diagonal"] * (1 - _ROUNDING)]
    listed = "; ".join(
        f"n = {r['size']:.0f}: {r['hadamard']:.3g} against {r['gamma_diagonal']:.3g}"
        for _, r in rows.iterrows()
    )
    return Finding(
        below.empty,
        f"The least of all symmetric ones, it concludes. With gamma = {gamma:g} at the entries of 1"
        f" of a regular Hadamard matrix, whose eigenvalues have both signs: {listed}.",
    )


def _draw_18(figure: Figure, table: pd.DataFrame) -> None:
    axes = figure.subplots(1, 2)
    for axis, gamma in zip(axes, GAMMAS, strict=True):
        rows = table[table["gamma"] == gamma]
        axis.plot(
            rows["size"], rows["gamma_diagonal"], "o-", color=style.BLUE, label="gamma-diagonal"
        )
        axis.plot(
            rows["size"], rows["hadamard"], "s--", color=style.RED, label="Hadamard, indefinite"
        )
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.set_xticks(list(ORDERS), [str(n) for n in ORDERS])
        axis.minorticks_off()
        axis.set(title=f"γ = {gamma:g}", xlabel="categories n")
        axis.legend(loc="upper left")
    axes[0].set_ylabel("condition number")


EQUATION_18 = Experiment(
    name="frapp-18",
    title="The least condition number of a symmetric matrix at an amplification",
    source="FRAPP (2005), section 3, equations 14 to 18",
    run=run_18,
    choices=(
        (
            "Equation 14 is for positive definite matrices and the conclusion for all symmetric"
            " ones: the first are drawn at random, of the others a family is built."
        ),
    ),
)


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
        (_no_trend(errors), _no_gain(ranges)),
        lambda figure: _draw_3(figure, ranges, errors),
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


def _errors(setting: Setting, survey: Survey) -> pd.DataFrame:
    """Return the support error of itemsets of four by alpha and run; alpha NaN is DET-GD."""
    runs, steps = (QUICK_RUNS, 3) if setting.quick else (RUNS, 11)
    owner = SeededOwner.of("frapp-3", setting.seed, survey.records)
    block = tuple(survey.domain)
    points = [(float("nan"), det_gd(survey.domain))] + [
        (share, Mechanism("RAN-GD", Plan((Block(block, random_channel(survey.domain, share)),))))
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


def _draw_3(figure: Figure, ranges: pd.DataFrame, errors: pd.DataFrame) -> None:
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


FIGURE_3 = Experiment(
    name="frapp-3",
    title="RAN-GD over the range of alpha: posteriors and support error",
    source="FRAPP (2005), figure 3 (a) and (b)",
    run=run_3,
    needs_data=CENSUS_FILES,
    choices=(CLOSED_LEFT,),
)


PRINTED_P = {"CENSUS": 0.5610, "HEALTH": 0.5524}
PRINTED_RANGE = (33, 60)
"""Percent, at alpha = gamma x / 2 and a prior of 5 % (FRAPP 4.1)."""

PRINTED_ORDERS = {"MASK": 5, "C&P": 7}
"""Powers of ten of the condition numbers in the authors' experiments (FRAPP 3)."""


def run_4(setting: Setting) -> Result:  # noqa: ARG001 - nothing is drawn at random
    """Compute all condition numbers and the parameters; no data is needed."""
    domains = {"CENSUS": domain_of(CENSUS), "HEALTH": domain_of(HEALTH)}
    table = pd.concat([_conditions(name, domain) for name, domain in domains.items()])
    findings = (
        *(_constant(name, domain, table) for name, domain in domains.items()),
        *(_keep(name, domain) for name, domain in domains.items()),
        _range(domains["CENSUS"]),
        *(_order(table, name) for name in PRINTED_ORDERS),
        *(_grows(table, name) for name in ("MASK", "C&P")),
        _short(table),
    )
    return Result({"conditions": table}, findings, lambda figure: _draw_4(figure, table))


def condition(mechanism: Mechanism, names: Sequence[str]) -> float:
    """Return the condition number of the matrix that estimates itemsets over some variables.

    The matrices are the paper's: MASK's is the product of its 2 x 2 matrices per item, that of cut
    and paste is over partial supports.

    Raises:
        PlanError: a block's channel cannot be restricted to the variables.
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


def _conditions(name: str, domain: Domain) -> pd.DataFrame:
    mechanisms = papers_mechanisms(domain)
    rows = [
        (name, mechanism.name, length, condition(mechanism, domain.names[:length]))
        for mechanism in mechanisms
        for length in range(1, len(domain) + 1)
    ]
    return pd.DataFrame(rows, columns=["data", "mechanism", "length", "condition"])


def _of(table: pd.DataFrame, data: str, name: str) -> dict[int, float]:
    """Return a mechanism's condition numbers by length; infinite where there is no inverse."""
    rows = table[(table["data"] == data) & (table["mechanism"] == name)]
    return dict(zip(rows["length"].tolist(), rows["condition"].tolist(), strict=True))


def _finite(values: dict[int, float]) -> dict[int, float]:
    return {length: value for length, value in values.items() if math.isfinite(value)}


def _constant(data: str, domain: Domain, table: pd.DataFrame) -> Finding:
    closed = 1 + domain.size / (GAMMA - 1)
    values = [c for name in ("DET-GD", "RAN-GD") for c in _of(table, data, name).values()]
    off = max(abs(value / closed - 1) for value in values)
    return Finding(
        off < 1e-3,
        f"{data}: the condition number of DET-GD and RAN-GD is 1 + |S|/(gamma - 1) = {closed:.1f}"
        f" at every length (largest relative difference {off:.1e}: RAN-GD's probabilities are"
        " multiples of 2^-32).",
    )


def _keep(data: str, domain: Domain) -> Finding:
    mask = next(m for m in papers_mechanisms(domain) if m.name == "MASK")
    channel = mask.plan.blocks[0].channel
    p = 1 - channel.as_dict()["flip"] / RESOLUTION
    return Finding(
        round(p, 4) == PRINTED_P[data],
        f"{data}: MASK of gamma {GAMMA:g} keeps an item with probability {p:.4f}; the paper prints"
        f" {PRINTED_P[data]:.4f}.",
    )


def _range(domain: Domain) -> Finding:
    low, high = posterior_range(random_channel(domain, 0.5), RHO_1)
    return Finding(
        (round(100 * low), round(100 * high)) == PRINTED_RANGE,
        f"RAN-GD at alpha = gamma x / 2 takes a prior of {RHO_1:.0%} to {100 * low:.1f} to"
        f" {100 * high:.1f} %; the paper prints {PRINTED_RANGE[0]} to {PRINTED_RANGE[1]} %.",
    )


def _order(table: pd.DataFrame, name: str) -> Finding:
    """ "Of the order of 10^5 and 10^7 for MASK and the Cut-and-Paste operator" (3)."""
    reached = {data: _of(table, data, name) for data in PRINTED_P}
    longest = {data: list(_finite(values).items())[-1] for data, values in reached.items()}
    printed = PRINTED_ORDERS[name]
    within = [d for d, (_, v) in longest.items() if math.floor(math.log10(v)) == printed]
    found = f"on {' and '.join(within)}" if within else "on none"
    texts = (f"{value:.2g} at length {k} of {data}" for data, (k, value) in longest.items())
    infinite = any(length < max(reached[data]) for data, (length, _) in longest.items())
    return Finding(
        bool(within),
        f"{name}: condition numbers of order 10^{printed}, the paper says, and not of which data."
        f" We find up to {' and '.join(texts)}, so {found}"
        + ("; longer ones cannot be inverted, as at most 3 items are kept." if infinite else "."),
    )


def _grows(table: pd.DataFrame, name: str) -> Finding:
    """Exponential growth: every length multiplies the condition number by 5 or more."""
    factors = []
    for data in PRINTED_P:
        values = list(_finite(_of(table, data, name)).values())
        factors += [b / a for a, b in itertools.pairwise(values)]
    return Finding(
        min(factors) > 5,
        f"{name}: the condition number grows exponentially, by a factor of {min(factors):.1f} to"
        f" {max(factors):.1f} with each item.",
    )


def _short(table: pd.DataFrame) -> Finding:
    det, mask = _of(table, "CENSUS", "DET-GD"), _of(table, "CENSUS", "MASK")
    lower = [int(k) for k in det if mask[k] < det[k]]
    return Finding(
        None,
        "The paper gives the low condition number as the reason of DET-GD's accuracy. MASK's is"
        f" lower at lengths {', '.join(map(str, lower)) or 'none'} of CENSUS"
        f" ({', '.join(f'{mask[k]:.0f}' for k in lower)} against {det[1]:.0f}).",
    )


def _draw_4(figure: Figure, table: pd.DataFrame) -> None:
    lines = (
        ("DET-GD", style.BLUE, "o", "-"),
        ("RAN-GD", style.SKY, "s", "--"),
        ("MASK", style.RED, "^", "-"),
        ("C&P", style.PURPLE, "D", "-"),
    )
    panels = figure.subplots(1, 2, sharey=True)
    for axis, data, part in zip(panels, PRINTED_P, "ab", strict=True):
        for name, colour, marker, dash in lines:
            _line(axis, _of(table, data, name), name, (colour, marker, dash))
        axis.set(
            yscale="log",
            title=f"({part}) {data}",
            xlabel="itemset length",
            xticks=sorted(set(table[table["data"] == data]["length"])),
        )
    panels[0].set_ylabel("condition number")
    panels[0].legend(loc="upper left")


def _line(axis: Axes, values: dict[int, float], name: str, look: tuple[str, str, str]) -> None:
    colour, marker, dash = look
    finite = _finite(values)
    lengths, conditions = list(finite), list(finite.values())
    axis.plot(lengths, conditions, dash, color=colour, marker=marker, markersize=6, label=name)
    if len(finite) < len(values):
        axis.annotate(
            "no inverse for longer ones",
            (lengths[-1], conditions[-1]),
            xytext=(8, -3),
            textcoords="offset points",
            fontsize=9,
            color=colour,
        )


FIGURE_4 = Experiment(
    name="frapp-4",
    title="Condition numbers by length of the itemset",
    source="FRAPP (2005), figure 4; sections 3, 4.1 and 7",
    run=run_4,
    choices=(
        "C&P keeps up to K = 3 items, with the smallest rho whose exact gamma is 19.",
        "A matrix whose condition number is above 10^8 is taken to have no inverse.",
    ),
)
