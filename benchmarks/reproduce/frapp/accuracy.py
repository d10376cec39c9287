"""Accuracy of itemset mining from many mechanisms' reports: runs, means and the table of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.reproduce.engine import Setting
from benchmarks.reproduce.frapp.data import MINIMUM, Survey
from benchmarks.reproduce.frapp.mechanisms import Mechanism
from pramana.setups.owner import SeededOwner
from pramana.simulate.rules import MEASURES, Supports, by_length, chosen
from pramana_core.domain import Domain
from pramana_core.errors import LimitExceeded, SingularChannel
from pramana_core.learn.rules.itemsets import all_items
from pramana_core.learn.rules.mining import mine_itemsets
from pramana_core.learn.rules.options import RuleOptions
from pramana_core.marginals.counts import Marginals

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
