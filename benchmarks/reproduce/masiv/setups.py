"""MaSiv's setups, with a miner and without, and what is estimated in them.

Also here:

* MaSiv's two setups: a miner who has everybody's reports (II), or the parties alone (I).
* MaSiv tables I and II: what the printed randomization says, and which one made the table.
* MaSiv figure 4: node D's parameters against p, and p* against N."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.reproduce import data
from benchmarks.reproduce.engine import (
    Axes,
    Experiment,
    Figure,
    Finding,
    Result,
    Setting,
    plausible,
    thousands,
    where,
)
from benchmarks.reproduce.ma.ma_5 import (
    ALMOST_NONE,
    NODE,
    REASONABLE,
    REPEATS,
    clean_of,
    estimates_of,
    over_runs,
    squared_ratios,
    theory,
)
from benchmarks.reproduce.ma.ma_table_5_2 import (
    PAPER_RUNS,
    LearnersView,
    by_node,
    errors,
    learn,
    parameters,
    sample,
)
from pramana import setups
from pramana.setups import SeededOwner
from pramana_core.channels import Dense, Symmetric, Transition
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.marginals.counts import Codes, Tensor
from pramana_core.pictures import plots as style
from pramana_core.plan import Block, Plan
from pramana_core.privacy import gamma, k_anonymity

# MaSiv's two setups: a miner who has everybody's reports (II), or the parties alone (I).

MINER, PEERS = "with a miner (II)", "without (I)"

SITES = ("ABC", "DEF")
"""The nodes of the two sites of figure 3: D has its parents at the other site (Ma 5.6.2)."""

PARTITION = (
    "Figure 3 and its partition are lost; A, B and C are at one site, D, E and F at the other, as"
    " Ma 5.6.2 says of the same network."
)


def both() -> tuple[str, str]:
    """Return the names of the setups."""
    return MINER, PEERS


@dataclass(frozen=True)
class View:
    """What a learner has of the six nodes: the plan of its copy, and the nodes it learns."""

    plan: Plan
    nodes: str

    def marginals(
        self, owner: SeededOwner, codes: Mapping[str, Codes], run: int
    ) -> EstimatedMarginals:
        """Return what its copy tells; whoever sees a block sees the same draws."""
        columns = {name: codes[name] for name in self.plan.domain.names}
        return EstimatedMarginals(owner.report(self.plan, columns, run), self.plan)


def views(name: str, p: float) -> tuple[View, ...]:
    """Return what is learned from in a setup, every node randomized with parameter `p`.

    Without a miner a site has its own columns as they are and learns its own nodes.
    """
    if name == MINER:
        return (View(data.six_plan(p), "ABCDEF"),)
    return tuple(View(data.six_plan(p, exact=site), site) for site in SITES)


def view_of(name: str, p: float, node: str) -> View:
    """Return the view in which a setup learns a node, of the node's family alone."""
    (site,) = (view.nodes for view in views(name, p) if node in view.nodes)
    family = data.family(node).nodes
    exact = site if name == PEERS else ""
    return View(data.six_plan(p, "".join(family), exact=exact), node)


# MaSiv tables I and II: what the printed randomization says, and which one made the table.

RUNS, QUICK_RUNS = 60, 10

PRINTED_GAMMA = {"A": 3, "D": 3, "L": 4.67, "B": 4.67, "E": 4, "X": 3, "C": 9, "F": 9}
"""Table I's amplifications."""

X_PRINTED, X_OF_MA = 0.4, 0.2
"""Table I's p of X, and that of Ma's Table 5.1."""

X_TRIED = (X_OF_MA, 0.25, X_PRINTED)
"""0.25 would have the printed gamma of 3."""

ACCURATE = 0.02
"""What we call accurate: a mean of five runs is so far off on average (VII.B's threshold c)."""

SMALL = 0.05
"""Up to this standard error a deviation is held against the delta method."""

_WITHIN = 0.9995


def channel(node: str, x: float) -> Transition:
    """Return a sensitive node's channel of Table I, X's with parameter `x`."""
    return Dense.binary(x, x) if node == "X" else setups.plan().block_of(node).channel


@dataclass(frozen=True)
class Randomization:
    """Table I with a parameter for X; `views` are those of learners with a miner and without."""

    x: float

    def plan(self, exact: str = "") -> Plan:
        """Return the plan of all columns for who has `exact` as they are."""
        return Plan(tuple(self._block(b, exact) for b in setups.plan(exact).blocks))

    def _block(self, block: Block, exact: str) -> Block:
        if block.names == ("X",) and "X" not in exact:
            return Block(block.variables, channel("X", self.x))
        return block

    @property
    def views(self) -> dict[str, tuple[LearnersView, ...]]:
        """What is learned from, by setup."""
        nodes = setups.STRUCTURE.nodes
        owners = setups.OWNERS.values()
        return {
            MINER: (LearnersView(self.plan(), nodes),),
            PEERS: tuple(LearnersView(self.plan(own), tuple(own)) for own in owners),
        }


def run_table(setting: Setting) -> Result:
    """Compute Table I's privacy and hold Table II against it, for each reading of X."""
    codes = sample(setting)
    runs = QUICK_RUNS if setting.quick else RUNS
    owner = SeededOwner.of("masiv-table-2", setting.seed, setups.RECORDS)
    estimates: dict[tuple[float, str], Tensor] = {}
    work = [(x, name) for x in (X_OF_MA, X_PRINTED) for name in both()]
    for done, (x, name) in enumerate(work):
        views = Randomization(x).views[name]
        steps = setting.steps(range(runs), done / len(work), (done + 1) / len(work))
        estimates[x, name] = np.array([learn(owner, codes, views, index) for index in steps])
    table = _frame(codes, estimates)
    return Result(
        {"parameters": table},
        (
            *_gammas(),
            _anonymity(),
            *(explains(table, x) for x in X_TRIED),
            *(accurate(table, estimates, x) for x in (X_OF_MA, X_PRINTED)),
            *(table_better(table, x) for x in (X_OF_MA, X_PRINTED)),
            *(table_as_theory(table, estimates, *key) for key in estimates),
        ),
        lambda figure: _draw_table(figure, table),
    )


def _frame(codes: dict[str, Codes], estimates: Mapping[tuple[float, str], Tensor]) -> pd.DataFrame:
    table = parameters(codes)[["node", "true", "printed", "printed_sd", "free"]].copy()
    for x in X_TRIED:
        for name, views in Randomization(x).views.items():
            table[f"se {x:g} {name}"] = errors(codes, views)
    for (x, name), found in estimates.items():
        table[f"mean {x:g} {name}"] = found.mean(axis=0)
        table[f"sd {x:g} {name}"] = found.std(axis=0, ddof=1)
    return table


def _gammas() -> list[Finding]:
    found = []
    for nodes in ("AD", "LB", "E", "X", "CF"):
        ours = gamma(channel(nodes[0], X_PRINTED))
        theirs = PRINTED_GAMMA[nodes[0]]
        found.append(
            Finding(
                round(ours, 2) == theirs,
                f"Table I, {' and '.join(nodes)}: gamma {ours:.4g}; the paper prints {theirs:g}.",
            )
        )
    return found


def _anonymity() -> Finding:
    """K* is the fewest categories that a report can come from (MaSiv II.B)."""
    found = {n: k_anonymity(channel(n, X_PRINTED)).categories for n in PRINTED_GAMMA}
    wanted = {n: setups.DOMAIN[n].size for n in found}
    return Finding(
        found == wanted and set(found.values()) == {2, 3},
        "K* is 2 for binary and 3 for ternary randomization:"
        f" {', '.join(f'{node} {k}' for node, k in found.items())}.",
    )


def explains(table: pd.DataFrame, x: float) -> Finding:
    """Hold the printed deviations of X and its child C against those theory gives with `x`."""
    rows = table[table["free"] & table["node"].isin(["X", "C"])]
    degrees = (PAPER_RUNS - 1) * len(rows)
    ratio = rows["printed_sd"] / rows[f"se {x:g} {MINER}"]
    statistic = float(((PAPER_RUNS - 1) * ratio**2).sum())
    held, low, high = plausible(statistic, degrees)
    words = {X_PRINTED: "as Table I prints", X_OF_MA: "as Ma's Table 5.1 prints"}
    reason = words.get(x, "which has Table I's gamma of 3")
    return Finding(
        held if x == X_PRINTED else None,
        f"Table II's deviations of X and C {'are' if held else 'are not'} those"
        f" of X randomized with p = {x:g}, {reason}: chi-square {statistic:.0f} with {degrees}"
        f" degrees of freedom (between {low:.0f} and {high:.0f} in 999 of 1,000 tables).",
    )


def accurate(
    table: pd.DataFrame, estimates: Mapping[tuple[float, str], Tensor], x: float
) -> Finding:
    """Check that tables of five runs are accurate in both setups."""
    truth = table["true"].to_numpy()
    texts, worst = [], 0.0
    for name in both():
        found = estimates[x, name]
        tables = found[: len(found) // PAPER_RUNS * PAPER_RUNS]
        means = tables.reshape(-1, PAPER_RUNS, len(truth)).mean(axis=1)
        off = np.abs(means - truth)
        texts.append(f"{off.mean():.4f} on average {name} (the worst {off.max():.3f})")
        worst = max(worst, float(off.mean()))
    return Finding(
        worst <= ACCURATE,
        f"The parameters are learned accurately in both setups, with p = {x:g} for X: means of five"
        f" runs are off by {', '.join(texts)}; we call {ACCURATE:g} on average accurate.",
    )


def table_better(table: pd.DataFrame, x: float) -> Finding:
    """Check that setup I is always better, by the errors that theory gives."""
    miner, peers = (table[f"se {x:g} {name}"] for name in (MINER, PEERS))
    worse = int((peers > miner * (1 + 1e-9)).sum())
    less = int((peers < miner * (1 - 1e-9)).sum())
    return Finding(
        worse == 0 and less > 0,
        f"Setup I, without a miner, is always better (p = {x:g} for X): of {len(table)} parameters"
        f" {less} have smaller standard errors, {worse} larger ones.",
    )


def table_as_theory(
    table: pd.DataFrame, estimates: Mapping[tuple[float, str], Tensor], x: float, name: str
) -> Finding:
    """Hold the deviations over the runs against theory, each parameter by itself."""
    rows = table[table["free"] & (table[f"se {x:g} {name}"] > 0)]
    # The delta method is for small errors; those above are told, not tested.
    small = rows[rows[f"se {x:g} {name}"] <= SMALL]
    degrees = len(estimates[x, name]) - 1
    each = (1 - _WITHIN) / len(small)
    ratio = degrees * (small[f"sd {x:g} {name}"] / small[f"se {x:g} {name}"]) ** 2
    low, high = (float(stats.chi2.ppf(q, degrees)) for q in (each, 1 - each))
    within = int(ratio.between(low, high).sum())
    return Finding(
        within == len(small),
        f"p = {x:g} for X, {name}: deviations over {degrees + 1} runs are those of theory for"
        f" {within} of {len(small)} free parameters with standard errors up to {SMALL:g}"
        f" ({len(rows) - len(small)} have larger ones).",
    )


def _draw_table(figure: Figure, table: pd.DataFrame) -> None:
    axis = figure.subplots()
    rows = table[table["free"]].reset_index(drop=True)
    at = np.arange(len(rows))
    looks = ((X_OF_MA, style.BLUE, "o"), (X_PRINTED, style.ORANGE, "s"))
    for x, colour, marker in looks:
        for name, fill in ((MINER, "full"), (PEERS, "none")):
            axis.plot(at, 100 * rows[f"se {x:g} {name}"], marker, markersize=6, fillstyle=fill,
                      color=colour, label=f"X p = {x:g}, {name}")  # fmt: skip
    axis.plot(at, 100 * rows["printed_sd"], "x", color=style.BLACK, label="table II, five runs")
    by_node(axis, rows["node"])
    axis.set(
        ylim=(0, 1.3 * float((100 * rows[f"se {X_PRINTED:g} {MINER}"]).max())),
        xlabel="free parameters of each node, in the order of the table",
        ylabel="standard error given the records, percent",
    )
    axis.legend(loc="upper center", ncols=3)


TABLE_2 = Experiment(
    name="masiv-table-2",
    title="Randomization and parameters of the eleven-node network: which p has X?",
    source="MaSiv (2006), tables I and II",
    run=run_table,
    choices=(
        setups.CHOSEN_EDGES,
        "The partition over three parties is lost; chosen: "
        + "; ".join(", ".join(n) for n in setups.OWNERS.values())
        + ".",
        (
            f"One sample of 20,000, randomized {RUNS} times ({QUICK_RUNS} with --quick); the paper:"
            " five. Tables of five runs are cut from these."
        ),
    ),
)


RECORDS = 5_000
LEVELS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35)

THRESHOLD = 0.02
"""c, the largest error allowed."""

SIZES = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000)
STEP, LAST = 0.01, 0.45

READINGS = {
    "error": "error of ten runs' mean",
    "mean error": "mean error of ten runs",
    "mean p*": "mean of ten runs' p*",
}
"""What "the smallest p (obtained by averaging over ten runs) for which the absolute value of the
estimation error exceeds c" can mean; all are means over the four parameters."""


def run_figure(setting: Setting) -> Result:
    """Randomize one sample ten times at every p, and larger samples until the error exceeds c."""
    levels = LEVELS[1::2] if setting.quick else LEVELS
    sizes = SIZES[:3] if setting.quick else SIZES
    first = RECORDS * len(levels) / (RECORDS * len(levels) + 20 * sum(sizes))
    codes = data.six_sample(RECORDS, setting.rng("masiv-4"))
    owner = SeededOwner.of("masiv-4", setting.seed, RECORDS)
    parts = (
        _rows(name, p, codes, estimates(owner, codes, name, p))
        for name, p in setting.steps(itertools.product(both(), levels), high=first)
    )
    parameters = pd.concat(parts, ignore_index=True)
    found = []
    many = data.six_sample(max(sizes), setting.rng("masiv-4", "p*"))
    owner = SeededOwner.of("masiv-4 p*", setting.seed, max(sizes))
    larger = itertools.product(both(), sizes)
    for name, records in setting.steps(larger, low=first, cost=lambda part: part[1]):
        some = {node: column[:records] for node, column in many.items()}
        found += [(name, records, *pair) for pair in p_star(owner, some, name).items()]
    stars = pd.DataFrame(found, columns=["setup", "records", "reading", "p_star"])
    return Result(
        {"parameters": parameters, "p-star": stars},
        (
            *(almost_none(parameters, name) for name in both()),
            *(good(parameters, name) for name in both()),
            *(as_theory(parameters, name) for name in both()),
            better(parameters),
            _privacy(),
            *(grows(stars, name) for name in both()),
            _readings(stars),
            later(stars),
        ),
        lambda figure: _draw(figure, parameters, stars),
        height=5.2,
    )


def estimates(owner: SeededOwner, codes: Mapping[str, Codes], name: str, p: float) -> Tensor:
    """Return a setup's raw estimates of Pr(D = 1 | B, C) by run, shape (runs, 4)."""
    view = view_of(name, p, NODE)
    return estimates_of(view.marginals(owner, codes, index) for index in range(REPEATS))


def _rows(name: str, p: float, codes: Mapping[str, Codes], found: Tensor) -> pd.DataFrame:
    """Return what the runs say of D; without a miner its own values are exact."""
    counts = data.counted(dict(codes), NODE)
    columns = over_runs(counts, found, theory(counts, p, exact=name == PEERS))
    return pd.DataFrame({"setup": name, "p": p, "parameter": range(1, 5), **columns})


def p_star(owner: SeededOwner, codes: Mapping[str, Codes], name: str) -> dict[str, float]:
    """Return p* by each reading: the first p, in steps of 0.01, whose error exceeds c.

    A run that stays below c up to p = 0.45 counts with that.
    """
    clean = clean_of(data.counted(dict(codes), NODE))
    first: dict[str, float] = {}
    alone = np.full(REPEATS, np.nan)
    for p in np.arange(STEP, LAST + STEP / 2, STEP).round(2).tolist():
        off = estimates(owner, codes, name, p) - clean
        each = np.abs(off).mean(axis=1)
        alone[np.isnan(alone) & (each > THRESHOLD)] = p
        for reading, error in (
            ("error", np.abs(off.mean(axis=0)).mean()),
            ("mean error", each.mean()),
        ):
            if error > THRESHOLD:
                first.setdefault(reading, p)
        if len(first) == 2 and not np.isnan(alone).any():
            break
    first["mean p*"] = float(np.nan_to_num(alone, nan=LAST).mean())
    return {reading: first.get(reading, LAST) for reading in READINGS}


def almost_none(table: pd.DataFrame, name: str) -> Finding:
    """Check that there is almost no error up to p = 0.25, for means of ten runs with a miner.

    The paper shows no figure of setup I.
    """
    rows = table[(table["setup"] == name) & (table["p"] <= 0.25)]
    off = (rows["mean"] - rows["clean"]).abs().max()
    error = rows["theory_sd"].max() / math.sqrt(REPEATS)
    return Finding(
        bool(error <= ALMOST_NONE) if name == MINER else None,
        f"Figure 4 (top), {name}: the paper sees almost no error up to p = 0.25. The standard error"
        f" of a mean of ten runs is up to {error:.3f} there ({ALMOST_NONE} would be almost none);"
        f" these means are off by up to {off:.3f}.",
    )


def good(table: pd.DataFrame, name: str) -> Finding:
    """Check that estimates are reasonably good up to p = 0.3, for a single run with a miner."""
    rows = table[(table["setup"] == name) & (table["p"] <= 0.3)]
    return Finding(
        bool(rows["theory_sd"].max() <= REASONABLE) if name == MINER else None,
        f"Figure 4 (top), {name}: reasonably good up to p = 0.3, it says. A single run's standard"
        f" error is up to {rows['theory_sd'].max():.3f} (we call {REASONABLE:.2f} good).",
    )


def as_theory(table: pd.DataFrame, name: str) -> Finding:
    """Hold the deviations against the delta method where its errors are small."""
    statistic, (held, low, high) = squared_ratios(where(table, setup=name))
    return Finding(
        held,
        f"Figure 4 (top), {name}: the deviations over ten runs are those of theory, where these are"
        f" up to {2 * ALMOST_NONE:g}: the squared ratios sum to {statistic:.0f} (between"
        f" {low:.0f} and {high:.0f} in 999 of 1,000).",
    )


def better(table: pd.DataFrame) -> Finding:
    """Check that setup I is better for every parameter at every p, by theory."""
    wide = table.pivot_table(index=["p", "parameter"], columns="setup", values="theory_sd")
    ratio = wide[PEERS] / wide[MINER]
    return Finding(
        bool((ratio < 1).all()),
        "Setup I is always better: D's own values are exact for its site, and the standard errors"
        f" of its parameters are {ratio.min():.2f} to {ratio.max():.2f} of those with a miner.",
    )


def _privacy() -> Finding:
    channel = Symmetric.from_probability(2, 0.25)
    found = (round(gamma(channel), 6), k_anonymity(channel).categories)
    return Finding(
        found == (3.0, 2), f"p = 0.25 has gamma = {found[0]:g} and K* = {found[1]}, as printed."
    )


def grows(stars: pd.DataFrame, name: str) -> Finding:
    """Check that p* grows with the number of records, by the reading that chance moves least."""
    rows = where(stars, setup=name, reading="mean p*")
    found = rows["p_star"].to_numpy()
    return Finding(
        bool((np.diff(found) > -STEP).all() and found[-1] > found[0] + STEP),
        f"Figure 4 (bottom), {name}: p* grows with the records, from {found[0]:.2f} with"
        f" {rows['records'].iloc[0]:,} to {found[-1]:.2f} with {rows['records'].iloc[-1]:,} (means"
        " of ten runs' p*).",
    )


def _readings(stars: pd.DataFrame) -> Finding:
    of_miner = where(stars, setup=MINER)
    rows = of_miner.pivot_table(index="records", columns="reading", values="p_star")
    listed = "; ".join(
        f"{READINGS[name]}: {', '.join(f'{value:.2f}' for value in rows[name])}"
        for name in READINGS
    )
    return Finding(
        None,
        f"The paper's p* can be read in three ways. With a miner, N = {rows.index[0]:,} to"
        f" {rows.index[-1]:,}: {listed}.",
    )


def later(stars: pd.DataFrame) -> Finding:
    """Check that without a miner more randomization keeps the accuracy."""
    means = where(stars, reading="mean p*")
    wide = means.pivot_table(index="records", columns="setup", values="p_star")
    more = wide[PEERS] - wide[MINER]
    return Finding(
        bool((more > 0).all()),
        f"Setup I keeps the accuracy up to a larger p at every N: p* is larger by {more.min():.3f}"
        f" to {more.max():.3f}.",
    )


def _draw(figure: Figure, parameters: pd.DataFrame, stars: pd.DataFrame) -> None:
    left, right = figure.subplots(1, 2)
    _panel_of_parameters(left, parameters)
    looks = {MINER: (style.BLUE, "full"), PEERS: (style.RED, "none")}
    lines = dict(zip(READINGS, ((":", "^"), ("--", "s"), ("-", "o")), strict=True))
    for (name, reading), rows in stars.groupby(["setup", "reading"], sort=False):
        (colour, fill), (dash, marker) = looks[str(name)], lines[str(reading)]
        right.plot(
            rows["records"], rows["p_star"], dash, color=colour, marker=marker, fillstyle=fill,
            label=f"{READINGS[str(reading)]}, {name}",
        )  # fmt: skip
    thousands(right, stars["records"].unique().tolist())
    right.set(
        ylim=(0, 0.5),
        xlabel="records N",
        ylabel="p*, smallest p with an error above 2 %",
        title="(bottom) p* against N",
    )
    for axis in (left, right):
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, fontsize=8)


def _panel_of_parameters(axis: Axes, table: pd.DataFrame) -> None:
    colours = (style.BLUE, style.RED, style.GREEN, style.ORANGE)
    for number, colour in enumerate(colours, 1):
        for name, fill, dash in ((MINER, "full", "-"), (PEERS, "none", "--")):
            rows = where(table, setup=name, parameter=number)
            axis.plot(
                rows["p"], rows["mean"], dash, color=colour, marker="o", fillstyle=fill,
                label=f"θ{number}, {name}",
            )  # fmt: skip
            axis.plot(rows["p"], rows["mean"] + rows["sd"], ":", color=colour, linewidth=1)
        axis.axhline(rows["clean"].iloc[0], color=colour, linewidth=0.8)
    axis.set(
        ylim=(-0.1, 1.2),
        xlabel="probability p of a flip",
        ylabel="Pr(D = 1 | B, C), mean of ten runs",
        title="(top) parameters; dotted: + one deviation",
    )


FIGURE_4 = Experiment(
    name="masiv-4",
    title="A node's parameters against p, and p* against N, with a miner and without",
    source="MaSiv (2006), figure 4",
    run=run_figure,
    choices=(
        data.SIX_NODES,
        PARTITION,
        "The ten runs randomize one sample of 5,000; errors are against its own parameters.",
        (
            "p* is the smallest p, in steps of 0.01, whose error, mean over D's four parameters,"
            " exceeds c = 2 %; which averages the paper takes is open, and all three are drawn."
        ),
    ),
)
