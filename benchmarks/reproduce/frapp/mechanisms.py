"""What FRAPP compares: mechanisms of one privacy, the accuracy of itemsets, and its claims.

Also here:

* Accuracy of itemset mining from many mechanisms' reports: runs, means and the table of them.
* What figures 1 and 2 of FRAPP say of the mechanisms, checked against measured errors.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.reproduce.engine import Finding, Setting
from benchmarks.reproduce.frapp.data import GAMMA, MINIMUM, Survey
from pramana.setups import SeededOwner
from pramana.simulate.itemsets import MEASURES, Supports, by_length, chosen
from pramana_core.channels import RESOLUTION, CutAndPaste
from pramana_core.design import Comparison, Problem, Requirements, compare, goal, reference
from pramana_core.design.families import (
    cut_and_paste,
    gamma_diagonal,
    independent,
    mask_channel,
    random_gamma_diagonal,
)
from pramana_core.domain import Domain
from pramana_core.errors import LimitExceeded, OptionError, SingularChannel
from pramana_core.estimation.estimated import EstimatedMarginals, Estimator
from pramana_core.learn.common.options import RuleOptions
from pramana_core.learn.rules.itemsets import all_items
from pramana_core.learn.rules.mining import mine_itemsets
from pramana_core.marginals.counts import CUBE_CELLS, Marginals, ReportTables
from pramana_core.plan import Block, Plan
from pramana_core.privacy import Amplification
from pramana_core.progress import OnShare

CUT = 3
"""K, the most items of a record that cut and paste keeps (FRAPP 7)."""

RHO = 0.494
"""The probability of inserting an item that FRAPP 7 gives for K = 3."""

_SAMPLED = {
    "sampled-1": "sampled singles",
    "sampled-2": "sampled pairs",
    "sampled-3": "sampled triples",
}


@dataclass(frozen=True)
class Mechanism:
    """What is done to the records and how supports are estimated from the reports.

    `most_runs` limits the repetitions of an estimate that takes long.
    """

    name: str
    plan: Plan
    estimator: Estimator = "moment"
    most_runs: int | None = None

    @property
    def gamma(self) -> float:
        """The amplification about the whole record."""
        return Amplification.together(self.plan.blocks).gamma

    @property
    def countable(self) -> bool:
        """Whether all reports together make a table small enough to count at once."""
        return math.prod(self.plan.reported_sizes.values()) <= CUBE_CELLS

    def marginals(self, reported: ReportTables) -> EstimatedMarginals:
        """Return what the reports tell, no more than two items interacting where it is a model."""
        return EstimatedMarginals(reported, self.plan, estimator=self.estimator, order=2)


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


def independent_columns(domain: Domain) -> Mechanism:
    """Every column by a symmetric channel of its own; the amplifications multiply to 19."""
    return Mechanism("independent", independent(demands(domain)))


def designed(domain: Domain, records: int, progress: OnShare) -> tuple[Mechanism, Comparison]:
    """Return the designer's choice for itemsets of all lengths, with what it compared.

    The designer has not seen the data: every variable's reference distribution is uniform.

    Raises:
        OptionError: no family meets the need, or the best one's estimator is not for itemsets.
    """
    wanted = goal(domain, "itemsets", length=len(domain), minimum_support=MINIMUM)
    found = compare(
        Problem(demands(domain), wanted, reference(domain), records),
        lambda _, done, total: progress(done / total),
    )
    best = found.best
    if best.plan is None:
        raise OptionError("The designer found no plan.", remedy="Allow a larger gamma.")
    # Other families have the names of mechanisms that the paper compares.
    name = _SAMPLED.get(best.family, "designed")
    estimator: Estimator = "log-linear" if best.estimator == "log-linear" else "moment"
    return Mechanism(name, best.plan, estimator), found


def with_our_estimator(mechanism: Mechanism) -> Mechanism:
    """Return a mechanism, starred, whose reports the log-linear model reads: one run, for time."""
    return Mechanism(f"{mechanism.name}*", mechanism.plan, "log-linear", most_runs=1)


# Accuracy of itemset mining from many mechanisms' reports: runs, means and the table of them.

RUNS, QUICK_RUNS = 8, 2

APRIORI, DIRECT = "apriori", "direct"


def measure(
    setting: Setting,
    label: str,
    survey: Survey,
    mechanisms: Sequence[Mechanism],
) -> pd.DataFrame:
    """Randomize and mine a survey under every mechanism, several times.

    Returns:
        A row per mechanism, run, way of mining and length: `mechanism`, `run`, `mining`
        (`APRIORI`; also `DIRECT` where the reports are few enough) and the columns of `by_length`.
    """
    runs = QUICK_RUNS if setting.quick else RUNS
    owner = SeededOwner.of(label, setting.seed, survey.records)
    work = [(m, run) for m in mechanisms for run in range(min(runs, m.most_runs or runs))]
    tables = []
    for mechanism, run in setting.steps(work):
        found = one_run(owner, survey, mechanism, run)
        found.insert(0, "mechanism", mechanism.name)
        found.insert(1, "run", run)
        tables.append(found)
    return pd.concat(tables, ignore_index=True)


def one_run(owner: SeededOwner, survey: Survey, mechanism: Mechanism, run: int) -> pd.DataFrame:
    """Randomize once, mine the reports and compare with the truth; columns as in `measure`."""
    marginals = mechanism.marginals(owner.report(mechanism.plan, survey.codes, run))
    items = all_items(survey.domain)
    found: dict[str, Supports] = {
        APRIORI: chosen(mine_itemsets(marginals, items, RuleOptions(MINIMUM)))
    }
    if mechanism.countable:
        found[DIRECT] = direct(marginals, survey.domain, MINIMUM)
    tables = []
    for way, itemsets in found.items():
        table = by_length(survey.itemsets, itemsets)
        table.insert(0, "mining", way)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def direct(marginals: Marginals, domain: Domain, minimum: float) -> Supports:
    """Find the itemsets of support `minimum` or more by looking at every itemset there is.

    Supports of estimates need not fall with the length, so that this finds more than Apriori. Of
    variables of which nothing can be estimated nothing is found.
    """
    places = {item: place for place, item in enumerate(all_items(domain))}
    supports = marginals.supports(tuple(places))
    found: dict[tuple[int, ...], float] = {}
    for length in range(1, len(domain) + 1):
        for names in itertools.combinations(domain.names, length):
            codes = [[places[name, code] for code in range(domain[name].size)] for name in names]
            rows = list(itertools.product(*codes))
            try:
                counts = supports.counts(np.array(rows, dtype=np.int64)).counts
            except (SingularChannel, LimitExceeded):
                continue
            shares = (counts / marginals.records).tolist()
            found |= {
                row: share for row, share in zip(rows, shares, strict=True) if share >= minimum
            }
    return found


def summary(runs: pd.DataFrame, mining: str = APRIORI) -> pd.DataFrame:
    """Return means and their standard errors of every measure by mechanism and length.

    The support error is over the runs in which any itemset was rightly found; NaN where there is
    none, and so is the standard error of fewer than two.
    """
    groups = runs[runs["mining"] == mining].groupby(["mechanism", "length"], sort=False)
    made = groups.agg(frequent=("frequent", "first"), found=("found", "mean"))
    for measured in MEASURES:
        made[measured] = groups[measured].mean()
        made[f"{measured}_se"] = groups[measured].sem()
    return made.reset_index()


def side_by_side(means: pd.DataFrame) -> str:
    """Return the means as text: a block per measure, a row per mechanism, a column per length.

    With six lengths it is 69 characters wide.
    """
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


def difference_p_value(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the two-sided p-value of Welch's test that two samples have one mean.

    Values that are NaN are left out. 1 where two samples of constant values agree or one has fewer
    than two values, 0 where constant values differ.
    """
    a, b = (np.array([v for v in values if not np.isnan(v)]) for values in (first, second))
    if min(len(a), len(b)) < 2:
        return 1.0
    parts = [x.var(ddof=1) / len(x) for x in (a, b)]
    total = sum(parts)
    if total == 0:
        return float(a.mean() == b.mean())
    degrees = total**2 / sum(p**2 / (len(x) - 1) for p, x in zip(parts, (a, b), strict=True))
    return float(2 * stats.t.sf(abs(a.mean() - b.mean()) / np.sqrt(total), degrees))


# What figures 1 and 2 of FRAPP say of the mechanisms, checked against measured errors.

_NOISE = 1e-3
"""How seldom two mechanisms of one accuracy are said to differ."""


def table(means: pd.DataFrame, runs: int) -> Finding:
    """Return the side-by-side table of means of some runs; the paper prints only its picture."""
    starred = means["mechanism"].str.endswith("*").any()
    return Finding(
        None,
        f"Percent by length of the itemsets; gamma {GAMMA:g}, minimum support {MINIMUM:.0%}; means"
        f" of {runs} runs ± standard errors"
        + (" (*: read by the log-linear model, one run)" if starred else "")
        + ".\n\n"
        + side_by_side(means),
    )


def _rows(means: pd.DataFrame, name: str) -> dict[str, dict[int, float]]:
    """Return a mechanism's columns, each by length."""
    own = means[means["mechanism"] == name].set_index("length").drop(columns="mechanism")
    return {
        str(column): dict(zip(own.index.tolist(), own[column].tolist(), strict=True))
        for column in own.columns
    }


def _listed(lengths: Sequence[int]) -> str:
    return ", ".join(map(str, lengths))


def better(means: pd.DataFrame, rival: str) -> Finding:
    """Check that DET-GD is "visibly better than" MASK and C&P (7.1)."""
    ours, theirs = _rows(means, "DET-GD"), _rows(means, rival)
    worse = []
    for measured in MEASURES:
        a, b = ours[measured], theirs[measured]
        lengths = [k for k in a if a[k] > b[k]]
        if lengths:
            k = lengths[0]
            worse.append(
                f"larger {measured.replace('_', ' ')} at length {_listed(lengths)}"
                f" ({a[k]:,.1f} against {b[k]:,.1f} % at {k})"
            )
    return Finding(
        not worse,
        f"The paper finds DET-GD visibly better than {rival}. "
        + (f"It has {'; '.join(worse)}." if worse else "No mean error of it is larger."),
    )


def degrades(means: pd.DataFrame, name: str) -> Finding:
    """MASK and C&P degrade drastically with the length (7.1): we ask for a factor of ten."""
    errors = {k: e for k, e in _rows(means, name)["support_error"].items() if not math.isnan(e)}
    if not errors:
        return Finding(None, f"{name} rightly finds no itemset at all.")
    first, last = min(errors), max(errors)
    return Finding(
        errors[last] >= 10 * errors[first],
        f"{name} degrades drastically with the length, the paper says: its support error goes from"
        f" {errors[first]:,.0f} % at length {first} to {errors[last]:,.0f} % at length {last}.",
    )


def longest(means: pd.DataFrame, name: str, printed: int) -> Finding:
    """Check up to which length a mechanism finds any itemset (7.1)."""
    own = _rows(means, name)
    right = {k: n * (1 - own["false_negatives"][k] / 100) for k, n in own["frequent"].items()}
    last = max((k for k, number in right.items() if number > 1e-9), default=0)
    beyond = [k for k in right if k > printed]
    rest = (
        f"it rightly finds {sum(right[k] for k in beyond):.2g} of"
        f" {sum(own['frequent'][k] for k in beyond):g} longer ones in an average run"
        if last > printed
        else f"here it rightly finds none longer than {last}"
    )
    return Finding(
        last <= printed,
        f"{name} finds no itemset longer than {printed}, the paper says; {rest}.",
    )


def same_law(runs: pd.DataFrame) -> Finding:
    """Nobody knows the record's own matrix, so RAN-GD's reports have exactly DET-GD's law."""
    tests = []
    for _, rows in runs.groupby("length"):
        of = {name: rows[rows["mechanism"] == name] for name in ("DET-GD", "RAN-GD")}
        for measured in MEASURES:
            first, second = (part[measured].tolist() for part in of.values())
            tests.append(difference_p_value(first, second))
    limit = _NOISE / len(tests)
    return Finding(
        min(tests) >= limit,
        "The paper finds RAN-GD only marginally worse than DET-GD. Its reports have DET-GD's law,"
        f" so it should be no worse at all: the smallest p-value of a difference in {len(tests)}"
        f" means is {min(tests):.2g} (below {limit:.1g} we would call it one).",
    )


def printed_rho(mechanisms: Sequence[Mechanism]) -> Finding:
    """Check the (K, rho) of FRAPP 7 against gamma."""
    exact, printed = (m for m in mechanisms if m.name.startswith("C&P"))
    rho = exact.plan.blocks[0].channel.as_dict()["paste"] / RESOLUTION
    return Finding(
        printed.gamma <= GAMMA,
        f"The paper's rho of {RHO} for K = {CUT} keeps gamma within {GAMMA:g}: gamma is"
        f" {printed.gamma:.1f}. The smallest rho that does is {rho:.3f}.",
    )


def designers_choice(compared: Comparison) -> Finding:
    """Say what the designer chose and what came next."""
    first, *others = (o for o in compared.options if math.isfinite(o.prediction.score))
    rest = ", ".join(f"{o.family} {100 * o.prediction.score:.3g}" for o in others[:4])
    return Finding(
        None,
        f"The designer chooses {first.family} with the {first.estimator} estimator, gamma"
        f" {first.gamma:.4g}: predicted error {100 * first.prediction.score:.3g} %. The next ones:"
        f" {rest} %.",
    )


def ratio(means: pd.DataFrame, name: str) -> Finding:
    """Say how many times larger DET-GD's support errors are than those of another mechanism."""
    det, ours = _rows(means, "DET-GD")["support_error"], _rows(means, name)["support_error"]
    ratios = {k: det[k] / ours[k] for k in det if not math.isnan(det[k] / ours[k])}
    return Finding(
        None,
        f"The support error of DET-GD is {', '.join(f'{r:.3g}' for r in ratios.values())} times"
        f" that of {name} at lengths {_listed(list(ratios))}.",
    )


def directly(direct: pd.DataFrame, name: str) -> Finding:
    """Say what happens without Apriori, which hides errors: only its subsets let an itemset in."""
    own = _rows(direct, name)
    errors = " ".join(f"{e:,.1f}" if e < 99.95 else f"{e:,.0f}" for e in own[MEASURES[0]].values())
    return Finding(
        None,
        f"Looking at every itemset instead, {name} has support errors of {errors} %, false"
        f" negatives of at most {max(own['false_negatives'].values()):.1f} % and false positives of"
        f" at most {max(own['false_positives'].values()):,.1f} %.",
    )
