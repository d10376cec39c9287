"""Ma chapter 7: itemsets and decision trees of randomized records, at every p.

Itemsets of items that are randomized in groups (figures 7.4 and 7.5), the amplification of such
groups (7.3), and decision trees (7.8 and 7.9).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from benchmarks.reproduce.data import (
    ADULT_CHOICE,
    ADULT_FILE,
    ADULT_GROUPS,
    CANCER_CHOICE,
    CANCER_FILE,
    MUSHROOM_FILE,
    MUSHROOM_GROUPS,
    PRESENT,
    REPEATED,
    ItemGroups,
    Named,
    TrueRecords,
    adult,
    breast_cancer,
    item_groups,
    mushroom,
    transactions,
)
from benchmarks.reproduce.engine import (
    Experiment,
    Figure,
    Finding,
    Result,
    Setting,
    claim,
    curves,
    where,
)
from benchmarks.reproduce.ma.linear_runs import (
    AT,
    CLEAN,
    at,
    draw,
    runs_at,
    spreads,
    summarized,
    within,
)
from pramana.setups import SeededOwner, numbered
from pramana.simulate.designs import symmetric
from pramana.simulate.itemsets import Supports, chosen, overall
from pramana.simulate.learners import accuracy
from pramana_core.channels import Symmetric
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.common.options import RuleOptions, TreeOptions
from pramana_core.learn.rules.itemsets import items_of
from pramana_core.learn.rules.mining import mine_itemsets
from pramana_core.learn.tree.growth import learn_tree
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.pictures import plots as style
from pramana_core.plan import Block, Plan
from pramana_core.privacy import Amplification, gamma
from pramana_core.ties import first_smallest

MINIMUM = 0.05
TIMES = 30
RUNS, QUICK_RUNS = 5, 1
REASONABLE = 10.0
"""What we call reasonable: the largest error in percent."""

ONCE, REPEATEDLY = "once", f"x {TIMES}"

CHOICE = (
    f"An error is called reasonable up to {REASONABLE:g} %. Means of {RUNS} runs ({QUICK_RUNS} with"
    " --quick); the paper does not say how many it took."
)


def mined(
    setting: Setting,
    label: str,
    records: TrueRecords,
    named: Sequence[Sequence[Named]],
    levels: Sequence[float],
) -> Result:
    """Randomize and mine a table, repeated and once, at every p, and compare with the paper."""
    groups = item_groups(records.domain, named)
    runs = _runs(setting, label, records, groups, levels)
    means = runs.groupby(["table", "p"], sort=False).mean(numeric_only=True)
    means = means.drop(columns="run").reset_index()
    alone = sum(len(group) == 1 for group in groups.groups)
    row, single = (where(means, table=t, p=AT).iloc[0] for t in (REPEATEDLY, ONCE))
    findings = (
        claim(f"{REPEATED} Here it has {records.size:,} records."),
        claim(
            f"{alone} items are in groups of their own: at p = 0.5 their reports are the same"
            " whether the item is there or not. Itemsets with one of them cannot be estimated and"
            " count as missed there."
        ),
        reasonable(means),
        worst(means),
        claim(
            f"On the table once, at p = {AT:g}, the support error is"
            f" {single['support_error']:.1f} % (repeated: {row['support_error']:.1f} %), the false"
            f" negatives {single['false_negatives']:.1f} % ({row['false_negatives']:.1f} %) and the"
            f" false positives {single['false_positives']:.1f} % ({row['false_positives']:.1f} %)."
        ),
    )
    return Result(
        {"means": means, "runs": runs},
        findings,
        lambda figure: _draw_errors(figure, means),
        height=7.2,
    )


def _runs(
    setting: Setting,
    label: str,
    records: TrueRecords,
    groups: ItemGroups,
    levels: Sequence[float],
) -> pd.DataFrame:
    runs = QUICK_RUNS if setting.quick else RUNS
    tables = {REPEATEDLY: records.repeated(TIMES), ONCE: records}
    rows, work = [], len(tables) * len(levels) * runs
    for name, table in tables.items():
        columns = transactions(table, groups)
        exact = ReportedCounts(columns, dict.fromkeys(columns, 2))
        truth = _mined(exact, Plan.unrandomized(groups.domain), groups)
        owner = SeededOwner.of(f"{label} {name}", setting.seed, table.size)
        for p in levels:
            for run in range(runs):
                reported = owner.report(groups.plan(p), columns, run)
                errors = overall(truth, _mined(reported, groups.plan(p), groups))
                rows.append({"table": name, "p": p, "run": run, **errors})
                setting.progress(len(rows) / work)
    return pd.DataFrame(rows)


def _mined(reported: ReportedCounts, plan: Plan, groups: ItemGroups) -> Supports:
    items = items_of(groups.domain, PRESENT)
    return chosen(mine_itemsets(EstimatedMarginals(reported, plan), items, RuleOptions(MINIMUM)))


def reasonable(means: pd.DataFrame) -> Finding:
    """7.1.4: "the results are reasonable when randomization parameter is less than 0.4"."""
    below = means[(means["table"] == REPEATEDLY) & (means["p"] < 0.4)]
    most = below[["support_error", "false_negatives", "false_positives"]].max()
    return claim(
        "The paper finds the results reasonable below p = 0.4. Up to p ="
        f" {below['p'].max():g} the support error is at most {most['support_error']:.1f} %, the"
        f" false negatives {most['false_negatives']:.1f} % and the false positives"
        f" {most['false_positives']:.1f} %.",
        (most <= REASONABLE).all(),
    )


def worst(means: pd.DataFrame) -> Finding:
    """7.1.4: with higher p "the worst error is the percentage of false positive"."""
    last = means[(means["table"] == REPEATEDLY) & (means["p"] < 0.5)].iloc[-1]
    return claim(
        f"At high p the worst error is that of false positives, the paper says. At p ="
        f" {last['p']:g} they are {last['false_positives']:.1f} %, the false negatives"
        f" {last['false_negatives']:.1f} % and the support error {last['support_error']:.1f} %.",
        last["false_positives"] >= max(last["false_negatives"], last["support_error"]),
    )


_LOOKS = {REPEATEDLY: (style.BLUE, "o", "-"), ONCE: (style.RED, "^", "-")}


def _draw_errors(figure: Figure, means: pd.DataFrame) -> None:
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


def spread(first: float, last: float) -> tuple[float, ...]:
    """Return the levels from first to last in steps of 0.05."""
    return tuple(float(round(p, 2)) for p in np.arange(first, last + 0.01, 0.05))


def _levels(setting: Setting, last: float) -> Sequence[float]:
    return (0.1, 0.3, 0.4, last) if setting.quick else spread(0.1, last)


MA_7_4 = Experiment(
    name="ma-7.4",
    title="Frequent itemsets of mushrooms, 23 items in 13 groups",
    source="Ma (2006), figure 7.4",
    run=lambda s: mined(s, "ma-7.4", mushroom(s), MUSHROOM_GROUPS, _levels(s, 0.5)),
    needs_data=(MUSHROOM_FILE,),
    choices=(
        (
            "The paper does not name its nine variables. These have 23 categories unchanged:"
            " class, cap-surface, bruises, gill-attachment, gill-spacing, gill-size, stalk-shape,"
            " stalk-surface-above-ring, ring-number."
        ),
        (
            "Groups of three: f, s, y of cap-surface; f, k, s of stalk-surface-above-ring;"
            " ring-number; gill-spacing with a of gill-attachment. Groups of two: class; bruises."
        ),
        CHOICE,
    ),
)

MA_7_5 = Experiment(
    name="ma-7.5",
    title="Frequent itemsets of adults, 30 items in 17 groups",
    source="Ma (2006), figure 7.5",
    run=lambda s: mined(s, "ma-7.5", adult(s), ADULT_GROUPS, _levels(s, 0.45)),
    needs_data=(ADULT_FILE,),
    choices=(
        ADULT_CHOICE,
        (
            "Groups of three: workclass; education; marital status; relationship. Groups of two:"
            " occupation; race; sex; income; the two lowest of age."
        ),
        CHOICE,
    ),
)


GROUPS = (2, 3)


def run_7_3(setting: Setting) -> Result:
    """Compute both amplifications from the plans themselves and compare with the closed forms.

    A group of items randomized together over its 2^|G| cells gives each item a marginal channel;
    applied to the items one by one, these would be as good for single items.
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
    closed = claim(
        "The amplifications of the plans are the printed closed forms at every p; the largest"
        f" relative difference is {error:.1e} (probabilities are published as multiples of 2^-32).",
        error < 1e-6,
    )
    return Result(
        {"gamma": table},
        (closed, *(claim for items in GROUPS for claim in _smaller(items, table))),
        lambda figure: _draw_gammas(figure, table),
    )


def plans(items: int, p: float) -> tuple[Plan, Plan]:
    """Return the plan over a group of items together, and that of its marginal channels alone."""
    variables = tuple(numbered(f"I{k + 1}", 2) for k in range(items))
    block = Block(variables, Symmetric.from_probability(2**items, p))
    alone = []
    for variable in variables:
        channel = block.restrict([variable.name])
        assert channel is not None  # noqa: S101 - symmetric channels are lumpable (prop. 7.2)
        alone.append(Block((variable,), channel))
    return Plan((block,)), Plan(tuple(alone))


def _smaller(items: int, table: pd.DataFrame) -> list[Finding]:
    """The claim of 7.1.3 is made for every p below 1 - 2^-|G|."""
    rows = table[table["items"] == items]
    ratio = rows["gamma_independent"] / rows["gamma_s"]
    larger = rows[ratio < 1]
    text = (
        f"|G| = {items}: one by one the simultaneous amplification is up to"
        f" {ratio.max():,.0f} times that of randomizing together, which the paper says reduces it"
    )
    if larger.empty:
        text += "; at every p drawn it does."
    else:
        first = larger.iloc[0]
        text += (
            f". From p = {first['p']:.2f}, where both are below {first['gamma_s']:.2f}, it is the"
            " other way round: one by one has the smaller one."
        )
    near = rows.iloc[first_smallest((rows["p"] - 0.3).abs(), scale=1.0)]
    return [
        claim(text, larger.empty),
        claim(
            f"|G| = {items}, p = {near['p']:.2f}: {near['gamma_s']:.1f} together and"
            f" {near['gamma_independent']:.1f} one by one."
        ),
    ]


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


MA_7_3 = Experiment(
    name="ma-7.3",
    title="Amplification of items randomized together and one by one",
    source="Ma (2006), figure 7.3 and section 7.1.3",
    run=run_7_3,
)


ID3 = TreeOptions(significance=None, least_records=0.0, prune=False, shrinkage=None)
"""The tree of Ma 7.2: no test, no pruning."""

OURS = TreeOptions()

HELD_OUT = 0.3
TREES = {"ID3": ID3, "with tests": OURS}

TREE_CHOICE = (
    "The class is the last variable and is randomized too. ID3 is the paper's, without pruning;"
    " the tree with tests is ours as it comes. The paper does not say what was tested on: here the"
    f" true records themselves and, separately, {HELD_OUT:.0%} of the table's records, held out"
    " before the rest is repeated."
)


def compared(
    setting: Setting, label: str, records: TrueRecords, times: int, levels: Sequence[float]
) -> Result:
    """Learn from the repeated table and from the table once; test on true records."""
    runs = _tree_runs(setting, label, records, times, levels)
    means = summarized(runs)
    majority = records.majority(_target(records))
    main, tested = _name("ID3", times), _name("with tests", times)
    once, repeated = (
        [at(means, _name(tree, n), AT) for tree in ("ID3", "with tests")] for n in (1, times)
    )
    found, clean = at(means, main, AT), at(means, main, CLEAN)
    left = (found - majority) / (clean - majority)
    findings = (
        claim(
            f"{REPEATED} On the table once, {records.size:,} records, the accuracy at p = {AT:g} is"
            f" {once[0]:.1%} by ID3 and {once[1]:.1%} with tests; repeated, {repeated[0]:.1%} and"
            f" {repeated[1]:.1%}."
        ),
        claim(
            f"The results are still reasonable at p = {AT:g}, the paper says: ID3 has {found:.1%}"
            f" right, clean {clean:.1%}, the most frequent class {majority:.1%}; {100 * left:.0f} %"
            " of what the clean tree gains on the class is left (we ask for half).",
            left >= 0.5,
        ),
        spreads(means, main),
        *(
            within(means, name, AT, 3)
            for name in (main, tested, _of_test_part(main), _of_test_part(tested))
        ),
    )
    return Result(
        {"means": means, "runs": runs},
        findings,
        lambda figure: _draw(figure, means, times, majority),
        facts={"majority": majority},
    )


def _target(records: TrueRecords) -> str:
    return records.domain.names[-1]


def _name(tree: str, times: int) -> str:
    return f"{tree}, table x {times}" if times > 1 else f"{tree}, table once"


def _of_test_part(name: str) -> str:
    return f"{name}, held out"


def _tree_runs(
    setting: Setting, label: str, records: TrueRecords, times: int, levels: Sequence[float]
) -> pd.DataFrame:
    """Return accuracies by curve, p and run; p = 0 is clean."""
    rows: list[tuple[str, float, int, float]] = []
    plans = {p: symmetric(records.domain, p) for p in levels}
    plans[CLEAN] = Plan.unrandomized(records.domain)
    work = 3 * sum(runs_at(p, quick=setting.quick) for p in plans)
    for kind, repeated in (("", times), ("", 1), ("held out", times)):
        owner = SeededOwner.of(f"{label} {kind} {repeated}", setting.seed, repeated * records.size)
        for p, plan in plans.items():
            for run in range(runs_at(p, quick=setting.quick)):
                learned, tested = _parts(setting, label, records, run, with_test_part=bool(kind))
                big = learned.repeated(repeated)
                reported = owner.report(plan, big.codes, run)
                for tree, options in TREES.items():
                    name = _name(tree, repeated)
                    name = _of_test_part(name) if kind else name
                    marginals = EstimatedMarginals(reported, plan)
                    model = learn_tree(marginals, _target(records), None, options)
                    rows.append((name, p, run, accuracy(model, tested.codes)))
                setting.progress(len(rows) / len(TREES) / work)
    return pd.DataFrame(rows, columns=["curve", "p", "run", "accuracy"]).sort_values(
        ["curve", "p", "run"], ignore_index=True
    )


def _parts(
    setting: Setting, label: str, records: TrueRecords, run: int, *, with_test_part: bool
) -> tuple[TrueRecords, TrueRecords]:
    """Return the records learned from and those tested on."""
    if not with_test_part:
        return records, records
    order = setting.rng(label, "held out", run).permutation(records.size)
    number = round(HELD_OUT * records.size)
    return records.taken(order[number:]), records.taken(order[:number])


def _draw(figure: Figure, means: pd.DataFrame, times: int, majority: float) -> None:
    left, right = figure.subplots(1, 2, sharey=True)
    lines: Mapping[str, float] = {"the most frequent class": majority}
    draw(left, means, [_name(tree, n) for n in (times, 1) for tree in TREES], lines)
    draw(right, means, [_of_test_part(_name(tree, times)) for tree in TREES], {"": majority})
    left.set_title("tested on the records themselves")
    right.set(title="tested on records held out", ylabel="")
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower left", ncols=3, fontsize=9)


def _tree_levels(setting: Setting) -> Sequence[float]:
    return (0.3, 0.45) if setting.quick else spread(0.1, 0.45)


MA_7_8 = Experiment(
    name="ma-7.8",
    title="Decision trees of the adult table from randomized records",
    source="Ma (2006), figure 7.8",
    run=lambda s: compared(s, "ma-7.8", adult(s), 30, _tree_levels(s)),
    needs_data=(ADULT_FILE,),
    choices=(ADULT_CHOICE, TREE_CHOICE),
)

MA_7_9 = Experiment(
    name="ma-7.9",
    title="Decision trees of the breast cancer table from randomized records",
    source="Ma (2006), figure 7.9",
    run=lambda s: compared(s, "ma-7.9", breast_cancer(s), 5, _tree_levels(s)),
    needs_data=(CANCER_FILE,),
    choices=(CANCER_CHOICE, TREE_CHOICE),
)
