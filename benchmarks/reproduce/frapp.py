"""FRAPP (Agrawal and Haritsa, 2005): tables, their frequent itemsets, and transition matrices.

Table 3 counts the frequent itemsets. Figures 1 and 2 show their errors under each mechanism, figure
3 varies RAN-GD's alpha, and figure 4 shows condition numbers.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.reproduce.engine import Axes, Claim, Figure, Result, Setting, bars, curves
from benchmarks.reproduce.tables import TrueRecords, domain_of, groupings, read_records
from pramana.setups import SeededOwner
from pramana.simulate import itemsets
from pramana.simulate.itemsets import MEASURES, Supports, chosen
from pramana_core.channels import (
    CONDITION_LIMIT,
    RESOLUTION,
    CutAndPaste,
    OneHot,
    RandomSymmetric,
    Sampled,
    Symmetric,
)
from pramana_core.design import Problem, Requirements, find_design, goal
from pramana_core.design.families import (
    cut_and_paste,
    gamma_diagonal,
    mask_channel,
    random_gamma_diagonal,
)
from pramana_core.domain import Domain
from pramana_core.errors import PlanError
from pramana_core.estimation.estimated import EstimatedMarginals, Estimator
from pramana_core.learn.common.options import RuleOptions
from pramana_core.learn.rules.itemsets import items_of
from pramana_core.learn.rules.mining import mine_itemsets
from pramana_core.pictures import plots as style
from pramana_core.plan import Block, Plan
from pramana_core.privacy import Amplification, posterior_range
from pramana_core.progress import OnShare
from pramana_core.ties import first_smallest

GAMMA = 19.0
"""The gamma that (rho_1, rho_2) = (5 %, 50 %) allows (FRAPP 7)."""

RHO_1 = 0.05
"""The prior probability of the property whose posterior is bounded (FRAPP 7)."""

MINIMUM = 0.02
"""The least support of a frequent itemset (FRAPP 7)."""

CENSUS_FILES = ("adult-train.csv.gz", "adult-test.csv.gz")
HEALTH_FILES = ("health.csv",)


CENSUS, HEALTH = groupings("census"), groupings("health")
"""The columns of FRAPP tables 1 and 2."""

PRINTED_CENSUS = (19, 102, 203, 165, 64, 10)
PRINTED_HEALTH = (23, 123, 292, 361, 250, 86, 12)
"""The paper's counts of frequent itemsets by length (table 3)."""


def census(setting: Setting, *, closed: str = "left") -> TrueRecords:
    """Read CENSUS: both parts of the UCI table "adult", all 48,842 records (FRAPP table 1)."""
    return read_records(setting, CENSUS_FILES, CENSUS, closed=closed)


def health(setting: Setting) -> TrueRecords:
    """Read a table like HEALTH: numbers of AGE, BDDAY12 and DV12, labels of FRAPP table 2."""
    return read_records(setting, HEALTH_FILES, HEALTH)


def frequent(records: TrueRecords) -> Supports:
    """Return the truly frequent itemsets with their supports; every category is an item."""
    exact = EstimatedMarginals(records.counts(), Plan.unrandomized(records.domain))
    return chosen(mine_itemsets(exact, items_of(records.domain), RuleOptions(MINIMUM)))


def run_table_3(setting: Setting) -> Result:
    """Count frequent itemsets with intervals closed on either side, and compare with the table."""
    left, right = census(setting), census(setting, closed="right")
    printed = PRINTED_CENSUS
    table = pd.DataFrame({"length": np.arange(len(printed)) + 1, "printed": printed})
    for column, records in (("computed", left), ("closed_right", right)):
        lengths = Counter(map(len, frequent(records)))
        table[column] = [lengths[k] for k in table["length"]]
    off = {c: int((table[c] - table["printed"]).abs().sum()) for c in ("computed", "closed_right")}
    sides = Claim(
        "Table 1 prints intervals closed on the right. Cut so, the counts are off by"
        f" {off['closed_right']} itemsets in all ({', '.join(map(str, table['closed_right']))});"
        f" closed on the left, by {off['computed']}.",
        off["closed_right"] < off["computed"],
    )
    return Result(
        {"itemsets": table},
        (*by_length(frequent(left), printed), sides),
        _draw_table_3,
        facts={"records": left.size},
    )


def by_length(itemsets: Supports, printed: tuple[int, ...]) -> Iterator[Claim]:
    """Compare the count of frequent itemsets of each length with the printed count."""
    lengths = Counter(map(len, itemsets))
    for length, wanted in enumerate(printed, 1):
        yield Claim(
            f"Length {length}: {lengths[length]} itemsets have a support of {MINIMUM:.0%} or more;"
            f" the paper prints {wanted}.",
            lengths[length] == wanted,
        )


def _draw_table_3(figure: Figure, table: pd.DataFrame) -> None:
    axis = figure.subplots()
    bars = (
        ("printed", "printed in table 3", style.GREY),
        ("computed", "computed, intervals closed on the left", style.BLUE),
        ("closed_right", "computed, closed on the right", style.SKY),
    )
    for offset, (column, name, colour) in enumerate(bars):
        drawn = axis.bar(
            table["length"] + 0.27 * (offset - 1), table[column], 0.25, color=colour, label=name
        )
        axis.bar_label(drawn, fontsize=9, padding=2)
    style.no_grid(axis, "x")
    axis.set(xticks=table["length"], xlabel="itemset length", ylabel="frequent itemsets")
    axis.legend(loc="upper right")


CUT = 3
"""K, the most items of a record that cut and paste keeps (FRAPP 7)."""

RHO = 0.494
"""The probability of inserting an item that FRAPP 7 gives for K = 3."""

OURS = "designed"

RUNS, QUICK_RUNS = 8, 2


@dataclass(frozen=True)
class Mechanism:
    """A randomization of the records, with an estimator of supports from the reports."""

    name: str
    plan: Plan
    estimator: Estimator = "moment"

    @property
    def gamma(self) -> float:
        """The amplification of the whole record."""
        return Amplification.together(self.plan.blocks).gamma


def demands(domain: Domain) -> Requirements:
    """Return FRAPP's requirement that the amplification of a whole record is at most 19."""
    return Requirements(domain, GAMMA)


def det_gd(domain: Domain) -> Mechanism:
    """Return DET-GD, the gamma-diagonal matrix over the whole record (FRAPP 3)."""
    return Mechanism("DET-GD", gamma_diagonal(demands(domain)))


def papers_mechanisms(domain: Domain) -> tuple[Mechanism, ...]:
    """Return the four mechanisms of FRAPP 7, and a fifth: cut and paste with the printed rho."""
    needs = demands(domain)
    pasted = CutAndPaste.from_probability(domain.shape, CUT, RHO)
    return (
        det_gd(domain),
        Mechanism("RAN-GD", random_gamma_diagonal(needs)),
        Mechanism("MASK", mask_channel(needs)),
        Mechanism("C&P", cut_and_paste(CUT)(needs)),
        Mechanism(f"C&P, rho {RHO}", Plan((Block(tuple(domain), pasted),))),
    )


def designed(domain: Domain, records: int, progress: OnShare) -> tuple[Mechanism, str]:
    """Return the designer's choice for itemsets of all lengths, with the name of its family.

    The designer does not use the data.
    """
    wanted = goal(domain, "itemsets", length=len(domain), minimum_support=MINIMUM)
    found = find_design(
        Problem(demands(domain), wanted, records),
        progress=lambda _, done, total: progress(done / total),
    )
    pooled = any(isinstance(block.channel, Sampled) for block in found.plan.blocks)
    return Mechanism(OURS, found.plan, "pooled" if pooled else "moment"), found.chosen.family


def measure(
    setting: Setting, label: str, records: TrueRecords, mechanisms: Sequence[Mechanism]
) -> pd.DataFrame:
    """Randomize and mine records repeatedly under every mechanism; return each run's errors."""
    runs = QUICK_RUNS if setting.quick else RUNS
    owner = SeededOwner.of(label, setting.seed, records.size)
    truth = frequent(records)
    tables = []
    for mechanism, run in setting.steps([(m, r) for m in mechanisms for r in range(runs)]):
        found = one_run(owner, records, truth, mechanism, run)
        tables.append(found.assign(mechanism=mechanism.name, run=run))
    return pd.concat(tables, ignore_index=True)


def one_run(
    owner: SeededOwner, records: TrueRecords, truth: Supports, mechanism: Mechanism, run: int
) -> pd.DataFrame:
    """Randomize once, mine the reports and compare with the truth by length."""
    reported = owner.report(mechanism.plan, records.codes, run)
    marginals = EstimatedMarginals(reported, mechanism.plan, estimator=mechanism.estimator)
    found = chosen(mine_itemsets(marginals, items_of(records.domain), RuleOptions(MINIMUM)))
    return itemsets.by_length(truth, found)


def summary(runs: pd.DataFrame) -> pd.DataFrame:
    """Return means and their standard errors of every measure by mechanism and length.

    The support error is averaged over the runs that correctly find an itemset. It is NaN if no run
    does, and its standard error is NaN with fewer than two such runs.
    """
    groups = runs.groupby(["mechanism", "length"], sort=False)
    made = groups.agg(frequent=("frequent", "first"), found=("found", "mean"))
    for measured in MEASURES:
        made[measured] = groups[measured].mean()
        made[f"{measured}_se"] = groups[measured].sem()
    return made.reset_index()


def _by_measure(means: pd.DataFrame, name: str) -> dict[str, dict[int, float]]:
    own = means[means["mechanism"] == name].set_index("length").drop(columns="mechanism")
    return {
        str(column): dict(zip(own.index.tolist(), own[column].tolist(), strict=True))
        for column in own.columns
    }


def _claims(
    means: pd.DataFrame, mechanisms: Sequence[Mechanism], mask_finds: int
) -> Iterator[Claim]:
    det = _by_measure(means, "DET-GD")
    for rival in ("MASK", "C&P"):
        theirs, worse = _by_measure(means, rival), []
        for measured in MEASURES:
            a, b = det[measured], theirs[measured]
            if lengths := [k for k in a if a[k] > b[k]]:
                k = lengths[0]
                worse.append(
                    f"larger {measured.replace('_', ' ')} at length {', '.join(map(str, lengths))}"
                    f" ({a[k]:,.1f} against {b[k]:,.1f} % at {k})"
                )
        yield Claim(  # 7.1
            f"The paper finds DET-GD visibly better than {rival}. "
            + (f"It has {'; '.join(worse)}." if worse else "None of its mean errors is larger."),
            not worse,
        )
    for rival in ("MASK", "C&P"):
        found = _by_measure(means, rival)["support_error"]
        errors = {k: e for k, e in found.items() if not math.isnan(e)}
        if not errors:
            yield Claim(f"{rival} does not find any frequent itemset.")
            continue
        first, last = min(errors), max(errors)
        yield Claim(  # 7.1: we ask for a factor of ten
            f"The paper says that {rival} degrades drastically with the length of itemsets: its"
            f" support error goes from {errors[first]:,.0f} % at length {first} to"
            f" {errors[last]:,.0f} % at length {last}.",
            errors[last] >= 10 * errors[first],
        )
    for rival, printed in (("MASK", mask_finds), ("C&P", CUT)):
        own = _by_measure(means, rival)
        right = {k: n * (1 - own["false_negatives"][k] / 100) for k, n in own["frequent"].items()}
        last = max((k for k, count in right.items() if count > 1e-9), default=0)
        beyond = [k for k in right if k > printed]
        yield Claim(  # 7.1
            f"The paper says that {rival} finds no itemset longer than {printed}. In an average run"
            f" it correctly finds {sum(right[k] for k in beyond):.2g} of"
            f" {sum(own['frequent'][k] for k in beyond):g} longer ones.",
            last <= printed,
        )
    exact, pasted = (m for m in mechanisms if m.name.startswith("C&P"))
    rho = exact.plan.blocks[0].channel.as_dict()["paste"] / RESOLUTION
    yield Claim(  # 7
        f"The paper's rho of {RHO} for K = {CUT} keeps gamma within {GAMMA:g}: gamma is"
        f" {pasted.gamma:.1f}. The smallest rho that does is {rho:.3f}.",
        pasted.gamma <= GAMMA,
    )


_DESIGN_SHARE = 0.1
"""The designer's share of the progress bar."""


def mine(setting: Setting, label: str, records: TrueRecords, mask_finds: int) -> Result:
    """Mine records under every mechanism and compare with the paper."""
    first, rest = setting.part(0.0, _DESIGN_SHARE), setting.part(_DESIGN_SHARE, 1.0)
    choice, chosen_family = designed(records.domain, records.size, first.progress)
    mechanisms = [*papers_mechanisms(records.domain), choice]
    runs = measure(rest, label, records, mechanisms)
    means = summary(runs)
    return Result(
        {"means": means, "runs": runs},
        _claims(means, mechanisms, mask_finds),
        _draw,
        height=5.6,
        facts={"gamma": {m.name: m.gamma for m in mechanisms}, "designed": chosen_family},
    )


LOOKS = {
    "DET-GD": (style.BLUE, "o", "-"),
    "RAN-GD": (style.SKY, "s", "--"),
    "MASK": (style.RED, "^", "-"),
    "C&P": (style.PURPLE, "D", "-"),
    OURS: (style.GREEN, "*", "-"),
}


def _draw(figure: Figure, means: pd.DataFrame, *_rest: pd.DataFrame) -> None:
    panels = figure.subplots(1, 3)
    titles = ("(a) support error", "(b) false negatives", "(c) false positives")
    for axis, measured, title in zip(panels, MEASURES, titles, strict=True):
        how: dict[str, Any] = {"error": f"{measured}_se", "looks": LOOKS, "capsize": 2}
        curves(axis, means, "length", measured, "mechanism", **how)
        axis.set(title=title, xlabel="itemset length", xticks=sorted(set(means["length"])))
    panels[0].set(ylabel="percent", yscale="log")
    panels[0].yaxis.set_major_formatter("{x:g}")
    for axis in panels[1:]:
        axis.set_ylim(-3, max(105, axis.get_ylim()[1]))
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower left", ncols=4, fontsize=9
    )


def mine_census(setting: Setting) -> Result:
    """Mine CENSUS under every mechanism."""
    return mine(setting, "frapp-census", census(setting), mask_finds=4)


def mine_health(setting: Setting) -> Result:
    """Mine the user's table under every mechanism and count its frequent itemsets."""
    records = health(setting)
    result = mine(setting, "frapp-health", records, mask_finds=5)
    counted = by_length(frequent(records), PRINTED_HEALTH)
    return replace(result, findings=(*counted, *result.findings))


LENGTH = 4
"""The length of the itemsets of figure 3 (b)."""

_NOISE = 1e-3


def run_3(setting: Setting) -> Result:
    """Compute the range of posterior beliefs, and measure the support error, at every alpha."""
    survey = census(setting)
    ranges = posteriors(survey.domain, 11 if setting.quick else 41)
    errors = _alpha_errors(setting, survey)
    return Result(
        {"posteriors": ranges, "errors": errors},
        (*_trend_claim(errors), *_gain_claim(ranges)),
        _draw_3,
    )


def random_channel(domain: Domain, share: float) -> RandomSymmetric:
    """Return RAN-GD over a whole record with alpha = `share` gamma x (FRAPP 4.1)."""
    return RandomSymmetric.around_gamma(domain.size, GAMMA, share)


def posteriors(domain: Domain, steps: int) -> pd.DataFrame:
    """Return by alpha the range of posteriors given the records' own matrices, and the miner's.

    The miner averages over all matrices that a record may have had.
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


def _alpha_errors(setting: Setting, survey: TrueRecords) -> pd.DataFrame:
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
            # Keys also differ by point: neighbouring alphas must not share draws.
            mined = one_run(owner, survey, truth, mechanism, done * runs + index)
            error = mined.set_index("length").at[LENGTH, "support_error"]
            rows.append((share, index, error))
    return pd.DataFrame(rows, columns=["alpha_share", "run", "support_error"])


def _trend_claim(errors: pd.DataFrame) -> Iterator[Claim]:
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
    _draw_alpha(right, errors)
    for axis in (left, right):
        axis.set_xlabel("α / γx")


def _draw_alpha(axis: Axes, errors: pd.DataFrame) -> None:
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
"""The printed percentages at alpha = gamma x / 2 and a prior of 5 % (FRAPP 4.1)."""

AND = " and "

PRINTED_ORDERS = {"MASK": 5, "C&P": 7}
"""The powers of ten of the condition numbers in the authors' experiments (FRAPP 3)."""


def run_4(setting: Setting) -> Result:  # noqa: ARG001 - nothing is drawn at random
    """Compute all condition numbers and the mechanisms' parameters; no data are needed."""
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
        f"RAN-GD at alpha = gamma x / 2 raises a prior of {RHO_1:.0%} to {low:.1f} to"
        f" {high:.1f} %; the paper prints {PRINTED_RANGE[0]} to {PRINTED_RANGE[1]} %.",
        (round(low), round(high)) == PRINTED_RANGE,
    )
    for name, printed in PRINTED_ORDERS.items():  # 3
        reached = {data: list(_finite(table, data, name).items())[-1] for data in domains}
        within = [d for d, (_, v) in reached.items() if math.floor(math.log10(v)) == printed]
        texts = (f"{value:.2g} at length {k} of {data}" for data, (k, value) in reached.items())
        yield Claim(
            f"The paper gives {name} condition numbers of order 10^{printed}, without naming the"
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

    The matrices are the paper's: for MASK the product of its 2 x 2 matrices of items, for cut and
    paste the matrix over partial supports.
    """
    product = 1.0
    for block in mechanism.plan.blocks:
        inside = [name for name in names if name in block.names]
        if not inside:
            continue
        channel = block.restrict(inside)
        if channel is None:
            raise PlanError(f"Block {block.name!r} has no marginal channel over {inside}.")
        if isinstance(channel, OneHot):
            channel = Symmetric.from_probability(2, channel.flip_units / RESOLUTION)
        product *= channel.condition_number
    return product if product <= CONDITION_LIMIT else math.inf


def _of(table: pd.DataFrame, data: str, name: str) -> dict[int, float]:
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
