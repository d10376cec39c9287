"""Ma 7.1: mining itemsets of items that are randomized in groups, and the groups' amplification.

Figures 7.4 and 7.5 show the errors of itemsets at every p, figure 7.3 the amplifications.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
import pandas as pd

from benchmarks.reproduce.engine import Claim, Figure, Result, Setting, curves, where
from benchmarks.reproduce.ma.classifiers import spread
from benchmarks.reproduce.tables import TrueRecords, adult, described, mushroom
from pramana.setups import SeededOwner, numbered
from pramana.simulate.itemsets import Supports, chosen, overall
from pramana_core.channels import Symmetric
from pramana_core.domain import Domain, Variable
from pramana_core.errors import OptionError
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.common.options import RuleOptions
from pramana_core.learn.rules.itemsets import items_of
from pramana_core.learn.rules.mining import mine_itemsets
from pramana_core.marginals.counts import Codes, ReportedCounts
from pramana_core.pictures import plots as style
from pramana_core.plan import Block, Plan
from pramana_core.privacy import Amplification, gamma

MINIMUM = 0.05
LONGEST = 12
"""The paper limits no length. The longest frequent itemset of the mushroom table has 9 items."""
TIMES = 30
RUNS, QUICK_RUNS = 5, 1
REASONABLE = 10.0
"""The largest error in percent that we call reasonable."""

ONCE, REPEATEDLY = "once", f"x {TIMES}"


ABSENT, PRESENT = "no", "yes"


Groups: TypeAlias = tuple[tuple[Variable, ...], ...]
"""Binary variables, one per item, by the groups that are randomized together."""


def group_plan(groups: Groups, p: float) -> Plan:
    """Return the plan that changes each group's combination with probability `p`.

    Any of the 2^|G| - 1 other combinations is reported with equal probability (Ma 7.1.2.1).
    """
    return Plan(
        tuple(Block(group, Symmetric.from_probability(2 ** len(group), p)) for group in groups)
    )


def item_groups(domain: Domain, together: Sequence[Sequence[str]]) -> Groups:
    """Return the groups in `together`, and a group of one for each other item.

    An item, and its variable, is named `variable=category`.
    """
    items = [f"{v.name}={c}" for v in domain for c in v.categories]
    named = [item for group in together for item in group]
    if len(set(named)) < len(named) or not set(named) <= set(items):
        raise OptionError("An item of `together` is in two groups, or unknown.", where="together")
    groups = [*together, *([item] for item in items if item not in named)]
    return tuple(tuple(Variable(item, (ABSENT, PRESENT)) for item in group) for group in groups)


def transactions(records: TrueRecords) -> dict[str, Codes]:
    """Return codes by item that state which records have the item."""
    return {
        f"{v.name}={category}": (records.codes[v.name] == code).astype("uint8")
        for v in records.domain
        for code, category in enumerate(v.categories)
    }


def mined(
    setting: Setting,
    label: str,
    records: TrueRecords,
    together: Sequence[Sequence[str]],
    levels: Sequence[float],
) -> Result:
    """Randomize and mine a table, repeated and original, at every p, and compare with the paper."""
    groups = item_groups(records.domain, together)
    runs = _runs(setting, label, records, groups, levels)
    means = runs.groupby(["table", "p"], sort=False).mean(numeric_only=True)
    means = means.drop(columns="run").reset_index()
    return Result({"means": means, "runs": runs}, _mining_claims(means), _draw_errors, height=7.2)


def _mining_claims(means: pd.DataFrame) -> Iterator[Claim]:
    repeated = where(means, table=REPEATEDLY)
    below = repeated[repeated["p"] < 0.4]
    most = below[["support_error", "false_negatives", "false_positives"]].max()
    yield Claim(  # 7.1.4
        "The paper finds the results reasonable below p = 0.4. Up to p ="
        f" {below['p'].max():g} the support error is at most {most['support_error']:.1f} %, the"
        f" false negatives {most['false_negatives']:.1f} % and the false positives"
        f" {most['false_positives']:.1f} %.",
        (most <= REASONABLE).all(),
    )
    last = repeated[repeated["p"] < 0.5].iloc[-1]
    yield Claim(  # 7.1.4
        f"The paper says that false positives are the largest error at high p. At p ="
        f" {last['p']:g} they are {last['false_positives']:.1f} %, the false negatives"
        f" {last['false_negatives']:.1f} % and the support error {last['support_error']:.1f} %.",
        last["false_positives"] >= max(last["false_negatives"], last["support_error"]),
    )


def _runs(
    setting: Setting,
    label: str,
    records: TrueRecords,
    groups: Groups,
    levels: Sequence[float],
) -> pd.DataFrame:
    runs = QUICK_RUNS if setting.quick else RUNS
    tables = {REPEATEDLY: records.repeated(TIMES), ONCE: records}
    rows, work = [], len(tables) * len(levels) * runs
    for name, table in tables.items():
        columns = transactions(table)
        exact = ReportedCounts(columns, dict.fromkeys(columns, 2))
        items = Domain(tuple(item for group in groups for item in group))
        truth = _mined(exact, Plan.unrandomized(items))
        owner = SeededOwner.of(f"{label} {name}", setting.seed, table.size)
        for p in levels:
            plan = group_plan(groups, p)
            for run in range(runs):
                errors = overall(truth, _mined(owner.report(plan, columns, run), plan))
                rows.append({"table": name, "p": p, "run": run, **errors})
                setting.progress(len(rows) / work)
    return pd.DataFrame(rows)


def _mined(reported: ReportedCounts, plan: Plan) -> Supports:
    items = items_of(plan.domain, PRESENT)
    return chosen(
        mine_itemsets(EstimatedMarginals(reported, plan), items, RuleOptions(MINIMUM, LONGEST))
    )


_LOOKS = {REPEATEDLY: (style.BLUE, "o", "-"), ONCE: (style.RED, "^", "-")}


def _draw_errors(figure: Figure, means: pd.DataFrame, *_rest: pd.DataFrame) -> None:
    axes = figure.subplots(2, 2, sharex=True)
    panels = {
        "found": "number of itemsets found",
        "support_error": "support error, percent",
        "false_positives": "false positives, percent",
        "false_negatives": "false negatives, percent",
    }
    for axis, (column, label) in zip(axes.ravel(), panels.items(), strict=True):
        curves(axis, means, "p", column, "table", looks=_LOOKS, label="the table {}")
        if column == "found":
            axis.axhline(means["frequent"].iloc[0], color=style.BLACK, linewidth=1, label="true")
        axis.set(ylabel=label, ylim=(0, None))
    for axis in axes[1]:
        axis.set_xlabel("probability p that a group is changed")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower left", ncols=3, fontsize=9)


def _levels(setting: Setting, last: float) -> Sequence[float]:
    return (0.1, 0.3, 0.4, last) if setting.quick else spread(0.1, last)


def run_7_4(setting: Setting) -> Result:
    """Mine the mushroom table."""
    together = described("mushroom")["together"]
    return mined(setting, "ma-7.4", mushroom(setting), together, _levels(setting, 0.5))


def run_7_5(setting: Setting) -> Result:
    """Mine the adult table."""
    together = described("adult")["together"]
    return mined(setting, "ma-7.5", adult(setting), together, _levels(setting, 0.45))


GROUPS = (2, 3)


def run_7_3(setting: Setting) -> Result:
    """Compute the amplifications of groups and of single items, and compare with the closed forms.

    A group of items randomized together over its 2^|G| cells gives each item a marginal channel.
    Applied to the items one by one, these channels are equally accurate for single items.
    """
    rows = []
    for items in GROUPS:
        last = 1 - 1 / 2**items
        for p in np.linspace(0.02, last - 0.01, 30 if setting.quick else 120).tolist():
            together, alone = plans(items, p)
            both = (Amplification.together(plan.blocks).gamma for plan in (together, alone))
            rows.append((items, p, *both, gamma(alone.blocks[0].channel)))
    columns = ["items", "p", "gamma_s", "gamma_independent", "gamma_item"]
    table = pd.DataFrame(rows, columns=columns)
    # Ma 7.1.3 prints both amplifications for any |G|.
    p, cells = table["p"], 2.0 ** table["items"]
    printed_s = (1 - p) / p * (cells - 1)
    change = p * cells / (2 * (cells - 1))
    printed_ind = ((1 - p + p * (cells / 2 - 1) / (cells - 1)) / change) ** table["items"]
    error = max(
        float((table["gamma_s"] / printed_s - 1).abs().max()),
        float((table["gamma_independent"] / printed_ind - 1).abs().max()),
    )
    closed = Claim(
        "The amplifications of the plans are the printed closed forms at every p; the largest"
        f" relative difference is {error:.1e} (probabilities are published as multiples of 2^-32).",
        error < 1e-6,
    )
    return Result({"gamma": table}, (closed, *_smaller(table)), _draw_gammas)


def plans(items: int, p: float) -> tuple[Plan, Plan]:
    """Return the plan that randomizes a group of items together, and the plan of its marginals."""
    variables = tuple(numbered(f"I{k + 1}", 2) for k in range(items))
    block = Block(variables, Symmetric.from_probability(2**items, p))
    alone = []
    for variable in variables:
        channel = block.restrict([variable.name])
        assert channel is not None  # noqa: S101 - symmetric channels are lumpable (prop. 7.2)
        alone.append(Block((variable,), channel))
    return Plan((block,)), Plan(tuple(alone))


def _smaller(table: pd.DataFrame) -> Iterator[Claim]:
    """Check the claim of 7.1.3, which the paper makes for every p below 1 - 2^-|G|."""
    for items in GROUPS:
        rows = table[table["items"] == items]
        ratio = rows["gamma_independent"] / rows["gamma_s"]
        larger = rows[ratio < 1]
        if larger.empty:
            end = ", and larger at every p drawn."
        else:
            first = larger.iloc[0]
            end = f", but smaller from p = {first['p']:.2f}, both below {first['gamma_s']:.2f}."
        yield Claim(
            f"|G| = {items}: the paper says that randomizing together reduces the simultaneous"
            f" amplification. One by one it is up to {ratio.max():,.0f} times as large{end}",
            larger.empty,
        )


def _draw_gammas(figure: Figure, table: pd.DataFrame) -> None:
    axes = figure.subplots(1, len(GROUPS), sharey=True)
    for axis, items in zip(axes, GROUPS, strict=True):
        rows = table[table["items"] == items]
        label = rf"one by one, $(\gamma_\mathrm{{ind}})^{items}$"
        axis.semilogy(rows["p"], rows["gamma_independent"], "--", color=style.RED, label=label)
        axis.semilogy(rows["p"], rows["gamma_s"], color=style.BLUE, label=r"together, $\gamma_s$")
        axis.set(title=f"groups of {items} items", xlabel="probability p that a cell is replaced")
        axis.legend(loc="upper right")
    axes[0].set(
        ylim=(0.8, 1.5 * table["gamma_independent"].max()), ylabel="simultaneous amplification γ"
    )
