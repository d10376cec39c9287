"""What figures 1 and 2 of FRAPP say of the mechanisms, checked against measured errors."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from benchmarks.reproduce.engine import Finding
from benchmarks.reproduce.frapp.accuracy import difference_p_value, side_by_side
from benchmarks.reproduce.frapp.data import GAMMA, MINIMUM
from benchmarks.reproduce.frapp.mechanisms import CUT, RHO, Mechanism
from pramana.simulate.rules import MEASURES
from pramana_core.channels import RESOLUTION
from pramana_core.design import Comparison

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
