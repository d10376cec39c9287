"""What FRAPP compares: mechanisms of one privacy, and the accuracy of itemsets mined from each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.reproduce.engine import Finding, Setting, claim
from benchmarks.reproduce.frapp.data import GAMMA, MINIMUM, Survey
from pramana.setups import SeededOwner
from pramana.simulate.itemsets import MEASURES, by_length, chosen
from pramana_core.channels import RESOLUTION, CutAndPaste, Sampled
from pramana_core.design import Design, Problem, Requirements, find_design, goal
from pramana_core.design.families import (
    cut_and_paste,
    gamma_diagonal,
    mask_channel,
    random_gamma_diagonal,
)
from pramana_core.domain import Domain
from pramana_core.estimation.estimated import EstimatedMarginals, Estimator
from pramana_core.learn.common.options import RuleOptions
from pramana_core.learn.rules.itemsets import items_of
from pramana_core.learn.rules.mining import mine_itemsets
from pramana_core.plan import Block, Plan
from pramana_core.privacy import Amplification
from pramana_core.progress import OnShare

CUT = 3
"""K, the most items of a record that cut and paste keeps (FRAPP 7)."""

RHO = 0.494
"""The probability of inserting an item that FRAPP 7 gives for K = 3."""

OURS = "designed"

RUNS, QUICK_RUNS = 8, 2

_NOISE = 1e-3
"""How seldom two mechanisms of one accuracy are judged different."""


@dataclass(frozen=True)
class Mechanism:
    """What is done to the records and how supports are estimated from the reports."""

    name: str
    plan: Plan
    estimator: Estimator = "moment"

    @property
    def gamma(self) -> float:
        """The amplification about the whole record."""
        return Amplification.together(self.plan.blocks).gamma


def demands(domain: Domain) -> Requirements:
    """Return FRAPP's demand: no record's report amplifies by more than 19."""
    return Requirements(domain, dict.fromkeys(domain.names, GAMMA), GAMMA)


def det_gd(domain: Domain) -> Mechanism:
    """DET-GD, the gamma-diagonal matrix over the whole record (FRAPP 3)."""
    return Mechanism("DET-GD", gamma_diagonal(demands(domain)))


def papers_mechanisms(domain: Domain) -> tuple[Mechanism, ...]:
    """Return the four mechanisms of FRAPP 7, cut and paste also with the rho it prints."""
    needs = demands(domain)
    pasted = CutAndPaste.from_probability(domain.shape, CUT, RHO)
    return (
        det_gd(domain),
        Mechanism("RAN-GD", random_gamma_diagonal(needs)),
        Mechanism("MASK", mask_channel(needs)),
        Mechanism("C&P", cut_and_paste(CUT)(needs)),
        Mechanism(f"C&P, rho {RHO}", Plan((Block(tuple(domain), pasted),))),
    )


def designed(domain: Domain, records: int, progress: OnShare) -> tuple[Mechanism, Design]:
    """Return the designer's choice for itemsets of all lengths, with what it compared.

    The designer has not seen the data.
    """
    wanted = goal(domain, "itemsets", length=len(domain), minimum_support=MINIMUM)
    found = find_design(
        Problem(demands(domain), wanted, records),
        progress=lambda _, done, total: progress(done / total),
    )
    pooled = any(isinstance(block.channel, Sampled) for block in found.plan.blocks)
    return Mechanism(OURS, found.plan, "pooled" if pooled else "moment"), found


def measure(
    setting: Setting, label: str, survey: Survey, mechanisms: Sequence[Mechanism]
) -> pd.DataFrame:
    """Randomize and mine a survey under every mechanism, several times."""
    runs = QUICK_RUNS if setting.quick else RUNS
    owner = SeededOwner.of(label, setting.seed, survey.records)
    tables = []
    for mechanism, run in setting.steps([(m, r) for m in mechanisms for r in range(runs)]):
        found = one_run(owner, survey, mechanism, run)
        tables.append(found.assign(mechanism=mechanism.name, run=run))
    return pd.concat(tables, ignore_index=True)


def one_run(owner: SeededOwner, survey: Survey, mechanism: Mechanism, run: int) -> pd.DataFrame:
    """Randomize once, mine the reports and compare with the truth by length."""
    reported = owner.report(mechanism.plan, survey.codes, run)
    marginals = EstimatedMarginals(reported, mechanism.plan, estimator=mechanism.estimator)
    items = items_of(survey.domain)
    found = chosen(mine_itemsets(marginals, items, RuleOptions(MINIMUM)))
    return by_length(survey.itemsets, found)


def summary(runs: pd.DataFrame) -> pd.DataFrame:
    """Return means and their standard errors of every measure by mechanism and length.

    The support error is over the runs in which any itemset was rightly found; NaN where there is
    none, and so is the standard error of fewer than two.
    """
    groups = runs.groupby(["mechanism", "length"], sort=False)
    made = groups.agg(frequent=("frequent", "first"), found=("found", "mean"))
    for measured in MEASURES:
        made[measured] = groups[measured].mean()
        made[f"{measured}_se"] = groups[measured].sem()
    return made.reset_index()


def side_by_side(means: pd.DataFrame) -> str:
    """Return the means as text: a block per measure, a row per mechanism, a column per length."""
    names = list(dict.fromkeys(means["mechanism"]))
    lengths = sorted(set(means["length"]))
    width = max(map(len, [*names, *MEASURES]))
    blocks = []
    for measured in MEASURES:
        rows = [_row(width, measured.replace("_", " "), map(str, lengths))]
        for name in names:
            own = means[means["mechanism"] == name].set_index("length").loc[lengths]
            cells = map(_cell, own[measured].tolist(), own[f"{measured}_se"].tolist())
            rows.append(_row(width, name, cells))
        blocks.append("\n".join(rows))
    return "\n\n".join(blocks)


def _row(width: int, name: str, cells: Iterable[str]) -> str:
    return f"{name:<{width}}" + "".join(f" {cell:>8}" for cell in cells)


def _cell(mean: float, error: float) -> str:
    if np.isnan(mean):
        return "-"
    digits = 0 if mean == 0 or mean >= 99.95 or error >= 9.95 else 1
    return f"{mean:.{digits}f}" + ("" if np.isnan(error) else f"±{error:.{digits}f}")


def _by_measure(means: pd.DataFrame, name: str) -> dict[str, dict[int, float]]:
    """Return a mechanism's columns, each by length."""
    own = means[means["mechanism"] == name].set_index("length").drop(columns="mechanism")
    return {
        str(column): dict(zip(own.index.tolist(), own[column].tolist(), strict=True))
        for column in own.columns
    }


def better(means: pd.DataFrame, rival: str) -> Finding:
    """Check that DET-GD is "visibly better than" MASK and C&P (7.1)."""
    ours, theirs = _by_measure(means, "DET-GD"), _by_measure(means, rival)
    worse = []
    for measured in MEASURES:
        a, b = ours[measured], theirs[measured]
        lengths = [k for k in a if a[k] > b[k]]
        if lengths:
            k = lengths[0]
            worse.append(
                f"larger {measured.replace('_', ' ')} at length {', '.join(map(str, lengths))}"
                f" ({a[k]:,.1f} against {b[k]:,.1f} % at {k})"
            )
    return claim(
        f"The paper finds DET-GD visibly better than {rival}. "
        + (f"It has {'; '.join(worse)}." if worse else "No mean error of it is larger."),
        not worse,
    )


def degrades(means: pd.DataFrame, name: str) -> Finding:
    """MASK and C&P degrade drastically with the length (7.1): we ask for a factor of ten."""
    found = _by_measure(means, name)["support_error"]
    errors = {k: e for k, e in found.items() if not math.isnan(e)}
    if not errors:
        return claim(f"{name} rightly finds no itemset at all.")
    first, last = min(errors), max(errors)
    return claim(
        f"{name} degrades drastically with the length, the paper says: its support error goes from"
        f" {errors[first]:,.0f} % at length {first} to {errors[last]:,.0f} % at length {last}.",
        errors[last] >= 10 * errors[first],
    )


def longest(means: pd.DataFrame, name: str, printed: int) -> Finding:
    """Check up to which length a mechanism finds any itemset (7.1)."""
    own = _by_measure(means, name)
    right = {k: n * (1 - own["false_negatives"][k] / 100) for k, n in own["frequent"].items()}
    last = max((k for k, number in right.items() if number > 1e-9), default=0)
    beyond = [k for k in right if k > printed]
    return claim(
        f"{name} finds no itemset longer than {printed}, the paper says; it rightly finds"
        f" {sum(right[k] for k in beyond):.2g} of {sum(own['frequent'][k] for k in beyond):g}"
        " longer ones in an average run.",
        last <= printed,
    )


def same_law(runs: pd.DataFrame) -> Finding:
    """Nobody knows the record's own matrix, so RAN-GD's reports have exactly DET-GD's law."""
    tests = []
    for _, rows in runs.groupby("length"):
        both = [rows[rows["mechanism"] == name] for name in ("DET-GD", "RAN-GD")]
        tests += [difference_p_value(*(part[m].tolist() for part in both)) for m in MEASURES]
    limit = _NOISE / len(tests)
    return claim(
        "The paper finds RAN-GD only marginally worse than DET-GD. Its reports have DET-GD's law,"
        f" so it should be no worse at all: the smallest p-value of a difference in {len(tests)}"
        f" means is {min(tests):.2g} (below {limit:.1g} we would call it one).",
        min(tests) >= limit,
    )


def difference_p_value(left: Sequence[float], right: Sequence[float]) -> float:
    """Return the two-sided p-value of Welch's test that two samples have one mean.

    Values that are NaN are left out. 1 where two samples of constant values agree or one has fewer
    than two values, 0 where constant values differ.
    """
    a, b = (np.array([v for v in x if not np.isnan(v)]) for x in (left, right))
    if min(len(a), len(b)) < 2:
        return 1.0
    if not a.std() and not b.std():
        return float(a.mean() == b.mean())
    first, second = ((x.mean(), x.std(ddof=1), len(x)) for x in (a, b))
    return float(stats.ttest_ind_from_stats(*first, *second, equal_var=False).pvalue)


def printed_rho(mechanisms: Sequence[Mechanism]) -> Finding:
    """Check the (K, rho) of FRAPP 7 against gamma."""
    exact, printed = (m for m in mechanisms if m.name.startswith("C&P"))
    rho = exact.plan.blocks[0].channel.as_dict()["paste"] / RESOLUTION
    return claim(
        f"The paper's rho of {RHO} for K = {CUT} keeps gamma within {GAMMA:g}: gamma is"
        f" {printed.gamma:.1f}. The smallest rho that does is {rho:.3f}.",
        printed.gamma <= GAMMA,
    )


def designers_choice(means: pd.DataFrame, compared: Design) -> Finding:
    """Return what the designer chose, and DET-GD's support errors over those of the choice."""
    first = compared.chosen
    det, ours = (_by_measure(means, name)["support_error"] for name in ("DET-GD", OURS))
    ratios = {k: det[k] / ours[k] for k in det if not math.isnan(det[k] / ours[k])}
    return claim(
        f"The designer chooses {first.family}, gamma {first.gamma:.4g}: predicted error"
        f" {100 * first.prediction.score:.3g} %. The support error of DET-GD is"
        f" {', '.join(f'{r:.3g}' for r in ratios.values())} times that of it at lengths"
        f" {', '.join(map(str, ratios))}."
    )
