"""Ma Table 5.2: the parameters of the eleven-node network, with a miner and without."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.reproduce.engine import (
    Axes,
    Experiment,
    Figure,
    Finding,
    Result,
    Setting,
    bars,
    claim,
    parameter_errors,
    plausible,
)
from pramana import setups
from pramana.setups import SeededOwner
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.networks.bayes_net import learn_parameters
from pramana_core.learn.networks.structure import Structure
from pramana_core.marginals.counts import Codes, ReportedCounts, Tensor
from pramana_core.pictures import plots as style
from pramana_core.plan import Plan
from pramana_core.ties import first_largest
from pramana_core.wire.parts import code_dtype

RUNS, QUICK_RUNS = 60, 10
PAPER_RUNS = 5

_PRINTED = """
    A  0.70(0.70) 0.30(0.70)
    T  0.10(0.50) 0.90(0.77) 0.90(0.50) 0.097(0.77)
    S  0.50(0.00) 0.49(0.00)
    L  0.30(0.49) 0.71(0.57) 0.39(0.64) 0.14(0.55) 0.31(0.93) 0.15(0.45)
    B  0.80(0.77) 0.16(0.41) 0.094(0.71) 0.49(0.73) 0.10(0.11) 0.36(0.65)
    E  0.25(2.0) 0.81(0.90) 0.14(2.7) 0.51(1.2) 0.31(2.6) 0.41(2.34) 0.75(2.0) 0.19(0.90) 0.86(2.7)
       0.50(1.2) 0.69(2.64) 0.59(2.3)
    D  0.69(2.2) 0.65(1.3) 0.11(3.3) 0.38(0.77) 0.79(1.7) 0.39(5.65) 0.31(2.3) 0.35(1.3) 0.89(3.34)
       0.62(0.77) 0.21(1.7) 0.61(5.7)
    X  0.20(0.80) 0.60(1.1) 0.81(0.80) 0.40(1.1)
    C  0.90(2.0) 0.38(1.6) 0.61(2.6) 0.25(2.1) 0.10(2.0) 0.62(1.6) 0.39(2.6) 0.75(2.1)
    F  0.24(0.73) 0.91(1.1) 0.77(0.73) 0.092(1.1)
    G  0.20(0.30) 0.40(0.29) 0.80(0.30) 0.60(0.29)
"""
"""Means and, in brackets, deviations x 10^-2 over five runs; the node's value slowest.

E's first deviation is printed as 0.20. The two values of a binary node deviate equally, and its
complement has 2.0.
"""


def printed() -> dict[str, tuple[Tensor, Tensor]]:
    """Return the printed means and deviations by node, in the order of the table."""
    found = {}
    words = _PRINTED.split()
    starts = [i for i, word in enumerate(words) if word in setups.STRUCTURE.nodes]
    for start, end in zip(starts, [*starts[1:], len(words)], strict=True):
        pairs = [word.rstrip(")").split("(") for word in words[start + 1 : end]]
        means, deviations = np.array([[float(x) for x in pair] for pair in pairs]).T
        found[words[start]] = (means, deviations / 100)
    return found


@dataclass(frozen=True)
class LearnersView:
    """What somebody learns from: the plan of all columns as he has them, and the nodes he learns.

    Without a miner an owner has its own columns unrandomized and learns its own nodes (Ma 5.2.1).
    """

    plan: Plan
    nodes: tuple[str, ...]

    @property
    def structure(self) -> Structure:
        """The nodes with their parents; all others without."""
        parents = setups.STRUCTURE.parents
        return Structure.of({n: parents[n] if n in self.nodes else () for n in self.needed})

    @property
    def needed(self) -> tuple[str, ...]:
        """The variables that are nodes here or parents of one."""
        parents = setups.STRUCTURE.parents
        wanted = {name for node in self.nodes for name in (node, *parents[node])}
        return tuple(name for name in setups.STRUCTURE.nodes if name in wanted)

    @property
    def randomized(self) -> tuple[str, ...]:
        """The variables that are randomized for whoever has this view."""
        return tuple(n for n in self.needed if not self.plan.block_of(n).channel.is_identity)


MINER = (LearnersView(setups.plan(), setups.STRUCTURE.nodes),)

PEERS = tuple(
    LearnersView(setups.plan(exact=nodes), tuple(nodes)) for nodes in setups.OWNERS.values()
)


def run(setting: Setting) -> Result:
    """Randomize one sample again and again and learn with a miner and without."""
    codes = sample(setting)
    runs = QUICK_RUNS if setting.quick else RUNS
    owner = SeededOwner.of("ma-table-5.2", setting.seed, setups.RECORDS)
    views = {"miner": MINER, "peers": PEERS}
    found: dict[str, list[Tensor]] = {name: [] for name in views}
    for index in setting.steps(range(runs)):
        for name, learners in views.items():
            found[name].append(learn(owner, codes, learners, index))
    estimates = {name: np.array(values) for name, values in found.items()}
    table = parameters(codes)
    for name, learners in views.items():
        table[name] = estimates[name].mean(axis=0)
        table[f"{name}_sd"] = estimates[name].std(axis=0, ddof=1)
        table[f"{name}_se"] = errors(codes, learners)
    sent = sorted({name for view in PEERS for name in view.randomized})
    findings = (
        always_better(table),
        claim(
            f"The reason: of {len(setups.CHANNELS)} sensitive variables only the cross parents"
            f" {', '.join(sent)} are randomized for anybody, and nobody's own columns for itself."
        ),
        *(_theory(table, len(estimates[name]), name) for name in estimates),
        published_deviations(table),
        published_means(table),
    )
    return Result({"parameters": table}, findings, lambda figure: _draw(figure, table), height=7.0)


def sample(setting: Setting) -> dict[str, Codes]:
    """Draw the 20,000 records."""
    drawn = setups.network().sample(setups.RECORDS, setting.rng("ma-table-5.2"))
    return {n: drawn[n].astype(code_dtype(setups.DOMAIN[n].size)) for n in setups.STRUCTURE.nodes}


def learn(
    owner: SeededOwner, codes: dict[str, Codes], views: tuple[LearnersView, ...], index: int
) -> Tensor:
    """Return all estimated parameters, in the order of the table, learned by these views.

    A block that several see is randomized by the same draws for all of them.
    """
    by_node: dict[str, Tensor] = {}
    for view in views:
        reported = owner.report(view.plan, codes, index)
        learned = learn_parameters(EstimatedMarginals(reported, view.plan), view.structure)
        by_node |= {f.node: f.estimate for f in learned.families if f.node in view.nodes}
    return np.concatenate([in_order(by_node[node]) for node in setups.STRUCTURE.nodes])


def in_order(table: Tensor) -> Tensor:
    """Return a table of parameters as the paper lists it: the node's value slowest."""
    value: Tensor = np.moveaxis(table, -1, 0).ravel()
    return value


def errors(codes: dict[str, Codes], views: tuple[LearnersView, ...]) -> Tensor:
    """Return the standard errors given the records that theory says, in the order of the table."""
    by_node: dict[str, Tensor] = {}
    for view in views:
        for node in view.nodes:
            names = [*setups.STRUCTURE.parents[node], node]
            matrices = [view.plan.block_of(name).channel.matrix() for name in names]
            by_node[node] = in_order(parameter_errors(_counts(codes, names), matrices))
    return np.concatenate([by_node[node] for node in setups.STRUCTURE.nodes])


def _counts(codes: dict[str, Codes], names: list[str]) -> Tensor:
    sizes = {name: setups.DOMAIN[name].size for name in names}
    counts = ReportedCounts({name: codes[name] for name in names}, sizes)
    return counts.table(names).astype(np.float64)


def parameters(codes: dict[str, Codes]) -> pd.DataFrame:
    """Return the network's parameters in the table's order, with the clean and printed ones."""
    network, published = setups.network(), printed()
    rows = []
    for node in setups.STRUCTURE.nodes:
        counts = _counts(codes, [*setups.STRUCTURE.parents[node], node])
        margin = np.broadcast_to(counts.sum(axis=-1, keepdims=True), counts.shape)
        columns = (network.tables[node], counts / margin, margin)
        places = np.arange(network.tables[node].size)
        free = places < places.size - places.size // setups.DOMAIN[node].size
        listed = (*map(in_order, columns), *published[node], places + 1, free)
        rows += [(node, *row) for row in zip(*listed, strict=True)]
    names = ["node", "true", "clean", "parents_count", "printed", "printed_sd", "place", "free"]
    return pd.DataFrame(rows, columns=names)


def always_better(table: pd.DataFrame) -> Finding:
    """Compare the exact standard errors given the records, parameter by parameter."""
    ratio = (table["peers_se"] / table["miner_se"].where(table["miner_se"] > 0)).dropna()
    worse = int((table["peers_se"] > table["miner_se"] * (1 + 1e-9)).sum())
    return claim(
        "Without a miner the results are always better: by the exact standard errors given the"
        f" records, {int((ratio < 1 - 1e-9).sum())} of {len(table)} parameters have a smaller error"
        f" and {worse} a larger one; the errors are {ratio[ratio > 0].min():.2f} to"
        f" {ratio.max():.2f} times the miner's, and {int((table['peers_se'] == 0).sum())} are exact"
        f" instead of {int((table['miner_se'] == 0).sum())}.",
        worse == 0,
    )


def _theory(table: pd.DataFrame, runs: int, name: str) -> Finding:
    rows = table[table["free"] & (table[f"{name}_se"] > 0)]
    each = 0.0005 / len(rows)
    ratio = (runs - 1) * (rows[f"{name}_sd"] / rows[f"{name}_se"]) ** 2
    low, high = (float(stats.chi2.ppf(q, runs - 1)) for q in (each, 1 - each))
    within = ratio.between(low, high)
    return claim(
        f"{'With' if name == 'miner' else 'Without'} a miner the deviations over {runs} runs of the"
        f" owners' own randomizer are those of theory for {within.sum()} of {len(within)} free"
        " parameters (each within the limits that all keep in 999 of 1,000 experiments).",
        within.all(),
    )


def published_deviations(table: pd.DataFrame) -> Finding:
    """Hold the printed deviations against theory."""
    rows = table[table["free"] & (table["miner_se"] > 0)]
    degrees = (PAPER_RUNS - 1) * len(rows)
    statistic = float(((PAPER_RUNS - 1) * (rows["printed_sd"] / rows["miner_se"]) ** 2).sum())
    fits, low, high = plausible(statistic, degrees)
    return claim(
        "The deviations that Table 5.2 prints are as large as theory says of five runs with a"
        f" miner: chi-square {statistic:.0f} with {degrees} degrees of freedom (between {low:.0f}"
        f" and {high:.0f} in 999 of 1,000 tables).",
        fits,
    )


def published_means(table: pd.DataFrame) -> Finding:
    """Hold the printed means against figure 5.2."""
    rows = table[table["free"]]
    sampling = rows["true"] * (1 - rows["true"]) / rows["parents_count"]
    rounding = 0.005**2 / 3
    spread = np.sqrt(sampling + rows["miner_se"] ** 2 / PAPER_RUNS + rounding)
    z = ((rows["printed"] - rows["true"]) / spread).abs()
    limit = float(stats.norm.isf(0.0005 / len(z)))
    worst = rows.iloc[first_largest(z, scale=1.0)]
    return claim(
        "The means it prints agree with figure 5.2 within the errors of one sample and five runs:"
        f" the farthest is {z.max():.1f} standard errors off (node {worst['node']}, entry"
        f" {worst['place']}; limit {limit:.1f}).",
        (z <= limit).all(),
    )


def by_node(axis: Axes, nodes: pd.Series[str]) -> None:
    """Give an axis a place for each parameter, with lines between the nodes and their names."""
    starts = np.flatnonzero(nodes != nodes.shift())
    for start in starts[1:]:
        axis.axvline(start - 0.5, color="#d0d0d0", linewidth=0.8)
    style.no_grid(axis, "x")
    middles = [(a + b - 1) / 2 for a, b in zip(starts, [*starts[1:], len(nodes)], strict=True)]
    axis.set_xticks(middles, nodes.iloc[starts])
    axis.tick_params(axis="x", length=0)
    axis.set_xlim(-0.7, len(nodes) - 0.3)


def _draw(figure: Figure, table: pd.DataFrame) -> None:
    axes = figure.subplots(2, 1, sharex=True)
    at = np.arange(len(table))
    axes[0].plot(at, table["true"], "_", color=style.BLACK, markersize=9, label="figure 5.2")
    for name, colour, shift, label in (
        ("miner", style.BLUE, -0.2, "with a miner"),
        ("peers", style.RED, 0.2, "without"),
    ):
        words = f"{label}, mean ± deviation"
        bars(axes[0], at + shift, table[name], table[f"{name}_sd"], colour, "o", words, "none",
             markersize=3)  # fmt: skip
        mark = "os"[name == "peers"]
        axes[1].plot(at, table[f"{name}_se"], mark, markersize=4.5, color=colour, label=label)
    axes[1].plot(
        at, table["printed_sd"], "x", color=style.GREY, markersize=5, label="printed, five runs"
    )
    for axis in axes:
        by_node(axis, table["node"])
    axes[1].set_ylim(top=1.25 * table["miner_se"].max())  # room for the legend
    axes[0].set_ylabel("parameter")
    axes[1].set_ylabel("standard error given the records")
    axes[1].set_xlabel("parameters of each node, in the order of the table")
    axes[0].legend(loc="upper center", bbox_to_anchor=(0.5, 1.18), ncols=3)
    axes[1].legend(loc="upper right", ncols=3)


EXPERIMENT = Experiment(
    name="ma-table-5.2",
    title="Parameters of the eleven-node network, with a miner and without",
    source="Ma (2006), table 5.2 and 5.2.1",
    run=run,
    choices=(
        setups.CHOSEN_EDGES,
        "The partition is lost too; chosen: "
        + "; ".join(", ".join(n) for n in setups.OWNERS.values())
        + ".",
        f"One sample, randomized {RUNS} times ({QUICK_RUNS} with --quick); the paper: five.",
    ),
)
