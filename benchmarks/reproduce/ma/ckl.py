"""Ma figures 5.7 and 5.8: the conditional Kullback-Leibler distance against p and against N.

It is the distance of one node's parameters (Ma 5.6.3), in nats; three nodes are shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd

from benchmarks.reproduce.data import ma_laws
from benchmarks.reproduce.engine import (
    Axes,
    Experiment,
    Figure,
    Finding,
    Result,
    Setting,
    parameter_errors,
    thousands,
    where,
)
from pramana.setups.owner import SeededOwner
from pramana.simulate.study import SMOOTHED, fitted
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.networks.network import BayesNet
from pramana_core.marginals.counts import Codes, Tensor
from pramana_core.pictures import plots as style

NODES = "CDF"
"""The nodes whose distances are shown."""

GOOD = 0.1
"""What we call good accuracy: at most this share of the distance that ignoring the parents has."""

SMALL = 0.01
"""Up to this many nats a distance is taken for what its second-order expansion says."""


def conditional_kl(counts: Tensor, estimate: Tensor) -> float:
    """Return sum_j P(j) KL(P0(. | j) || P1(. | j)).

    Args:
        counts: the clean counts of the family, the node's own axis last; they give P and P0.
        estimate: P1, with the same axes; positive.
    """
    joint = counts / counts.sum()
    clean = counts / counts.sum(axis=-1, keepdims=True)
    seen = joint > 0
    return float(np.sum(joint[seen] * np.log(clean[seen] / estimate[seen])))


def distances(
    owner: SeededOwner, codes: Mapping[str, Codes], p: float, run: int, nodes: str = NODES
) -> tuple[float, ...]:
    """Randomize records, learn the parameters of some nodes and return their distances.

    Args:
        owner: randomizes the first records of its own.
        codes: the true codes.
        p: the parameter of the binary symmetric randomization of every node.
        run: which of the owner's draw keys is used.
        nodes: the nodes, one character each.
    """
    structure = ma_laws.family(*nodes)
    plan = ma_laws.six_plan(p, "".join(structure.nodes))
    columns = {name: codes[name] for name in plan.domain.names}
    learned = fitted(EstimatedMarginals(owner.report(plan, columns, run), plan), structure)
    return tuple(_distance(codes, learned, node) for node in nodes)


def _distance(codes: Mapping[str, Codes], learned: BayesNet, node: str) -> float:
    return conditional_kl(ma_laws.counted(dict(codes), node), learned.tables[node])


def predicted(counts: Tensor, p: float) -> float:
    """Return the mean distance that the standard errors predict while they are small.

    To second order KL(q || q + e) is sum e^2 / 2 q, so that its mean is that of the variances.
    """
    flip = np.array([[1 - p, p], [p, 1 - p]])
    variance = parameter_errors(counts, [flip] * counts.ndim) ** 2
    margin = counts.sum(axis=-1, keepdims=True)
    return float(np.sum(margin / counts.sum() * variance / (2 * counts / margin)))


def ignoring_parents(counts: Tensor) -> float:
    """Return the distance if the parents are ignored: the information they have on the node."""
    alone = counts.sum(axis=tuple(range(counts.ndim - 1)))
    return conditional_kl(counts, np.broadcast_to(alone / alone.sum(), counts.shape))


def moments(values: Sequence[Sequence[float]]) -> tuple[Tensor, Tensor]:
    """Return mean and standard deviation over the runs, the first axis."""
    found = np.array(values, dtype=np.float64)
    return found.mean(axis=0), found.std(axis=0, ddof=1)


def curve(
    axis: Axes, rows: pd.DataFrame, against: str, colour: object, marker: str, label: str
) -> None:
    """Draw the mean distance, one deviation above it, and what is predicted, against a column."""
    at = rows[against]
    style.curve(axis, at, rows["ckl"], colour, marker, label)
    axis.plot(at, rows["ckl"] + rows["sd"], ":", color=colour)
    axis.plot(at, rows["predicted"], "--", color=colour, linewidth=1)


RECORDS_5_7 = 10_000
RUNS_5_7, QUICK_RUNS_5_7 = 50, 10
LEVELS_5_7 = tuple(round(0.025 * k, 3) for k in range(1, 18))


def run_5_7(setting: Setting) -> Result:
    """Randomize one sample again and again at every p and average the distances."""
    codes = ma_laws.six_sample(RECORDS_5_7, setting.rng("ma-5.7"))
    counts = {node: ma_laws.counted(codes, node) for node in NODES}
    levels = LEVELS_5_7[1::2] if setting.quick else LEVELS_5_7
    runs = QUICK_RUNS_5_7 if setting.quick else RUNS_5_7
    owner = SeededOwner.of("ma-5.7", setting.seed, RECORDS_5_7)
    rows = []
    for p in setting.steps(levels):
        mean, sd = moments([distances(owner, codes, p, index) for index in range(runs)])
        for place, node in enumerate(NODES):
            rows.append((node, p, mean[place], sd[place], predicted(counts[node], p)))
    table = pd.DataFrame(rows, columns=["node", "p", "ckl", "sd", "predicted"])
    scale = {node: ignoring_parents(counts[node]) for node in NODES}
    findings = (_trade_off(table), _good(table, scale), _parents(table), _theory(table))
    return Result({"ckl": table}, findings, lambda figure: _draw_5_7(figure, table))


def _trade_off(table: pd.DataFrame) -> Finding:
    wide = table.pivot_table(index="p", columns="node", values="ckl")
    rank = wide.corrwith(pd.Series(wide.index, index=wide.index), method="spearman")
    return Finding(
        bool((rank >= 0.9).all()),
        "More randomization is a larger distance: the rank correlations with p are"
        f" {', '.join(f'{rank[n]:.2f} ({n})' for n in NODES)} (we ask for 0.9).",
    )


def _good(table: pd.DataFrame, scale: Mapping[str, float]) -> Finding:
    at = table[np.isclose(table["p"], 0.3)].set_index("node")["ckl"]
    shares = {node: at[node] / scale[node] for node in NODES}
    listed = ", ".join(f"{at[n]:.3f} ({n}, {shares[n]:.0%})" for n in NODES)
    return Finding(
        max(shares.values()) <= GOOD,
        f"With {RECORDS_5_7:,} records the accuracy is still good at p = 0.3: the distances are"
        f" {listed} nats, with the share of the distance that ignoring the node's parents would"
        f" have (we call up to {GOOD:.0%} good).",
    )


def _parents(table: pd.DataFrame) -> Finding:
    row = table.pivot_table(index="p", columns="node", values="predicted").loc[0.3]
    return Finding(
        None,
        "Two parents cost more than one: at p = 0.3 the predicted distance of D is"
        f" {row['D'] / row['C']:.0f} times that of C, and that of F {row['F'] / row['C']:.0f}"
        " times.",
    )


def _theory(table: pd.DataFrame) -> Finding:
    rows = table[table["predicted"] <= SMALL]
    ratio = float((rows["ckl"] / rows["predicted"]).mean())
    return Finding(
        None,
        "The errors of theorem 5.2 predict the mean distance as sum P(j) Var / 2 theta: where that"
        f" is at most {SMALL:g}, the distances are {ratio:.2f} times it on average.",
    )


def _draw_5_7(figure: Figure, table: pd.DataFrame) -> None:
    axes = figure.subplots(1, 2)
    colours = (style.BLUE, style.RED, style.GREEN)
    for axis in axes:
        for (node, rows), colour, marker in zip(
            table.groupby("node"), colours, style.MARKERS, strict=False
        ):
            curve(axis, rows, "p", colour, marker, f"node {node}")
        axis.set_xlabel("probability p of a flip")
    axes[0].plot([], [], ":", color=style.BLACK, label="mean + one deviation")
    axes[0].plot([], [], "--", color=style.BLACK, linewidth=1, label="predicted")
    axes[0].set(
        xlim=(0, 0.32), ylim=(0, 0.1), title="up to p = 0.3", ylabel="conditional KL distance, nats"
    )
    axes[1].set(yscale="log", title="all, logarithmic")
    axes[0].legend(loc="upper left")


MA_5_7 = Experiment(
    name="ma-5.7",
    title="Conditional KL distance of three nodes against the randomization parameter",
    source="Ma (2006), figure 5.7",
    run=run_5_7,
    choices=(
        ma_laws.SIX_NODES,
        SMOOTHED,
        (
            f"{RUNS_5_7} runs ({QUICK_RUNS_5_7} with --quick) randomize one sample; the paper takes"
            " ten."
        ),
    ),
)


LEVELS_5_8 = (0.1, 0.2, 0.3, 0.4)
RUNS_5_8 = 10
DOUBLINGS_5_8 = 8
RECORDS_5_8 = tuple(2_500 * 2**k for k in range(1, DOUBLINGS_5_8 + 1))


def run_5_8(setting: Setting) -> Result:
    """Randomize ever larger parts of one sample, ten times at every p."""
    sizes = RECORDS_5_8[:5] if setting.quick else RECORDS_5_8
    codes = ma_laws.six_sample(max(sizes), setting.rng("ma-5.8"))
    owner = SeededOwner.of("ma-5.8", setting.seed, max(sizes))
    rows = []
    for records, p in setting.steps(product(sizes, LEVELS_5_8), cost=lambda part: part[0]):
        some = {name: column[:records] for name, column in codes.items()}
        mean, sd = moments([distances(owner, some, p, index) for index in range(RUNS_5_8)])
        for place, node in enumerate(NODES):
            theory = predicted(ma_laws.counted(some, node), p)
            rows.append((node, p, records, mean[place], sd[place], theory))
    table = pd.DataFrame(rows, columns=["node", "p", "records", "ckl", "sd", "predicted"])
    scale = {node: ignoring_parents(ma_laws.counted(codes, node)) for node in NODES}
    findings = (_falls(table), _order(table), *_both(table, scale), _exchange(table))
    return Result({"ckl": table}, findings, lambda figure: _draw_5_8(figure, table), height=7.2)


def _falls(table: pd.DataFrame) -> Finding:
    wide = table.pivot_table(index="records", columns=["node", "p"], values="ckl")
    factor = wide.iloc[0] / wide.iloc[-1]
    return Finding(
        bool((factor > 1).all()),
        f"More records bring the distance down: from {wide.index[0]:,} to {wide.index[-1]:,} it"
        f" falls for {(factor > 1).sum()} of {len(factor)} nodes and levels, by factors from"
        f" {factor.min():.0f} to {factor.max():.0f}.",
    )


def _order(table: pd.DataFrame) -> Finding:
    """5.4.2: the variance is of the order 1 / N, and so is the distance."""
    rows = table[table["predicted"] <= SMALL]
    slope = np.polyfit(np.log(rows["records"]), np.log(rows["ckl"] / rows["predicted"]), 1)[0]
    return Finding(
        abs(slope) <= 0.1,
        "The variance, and with it the distance, is of the order 1 / N: where the prediction is at"
        f" most {SMALL:g} nats the distances fall as N^{slope - 1:.2f} (we ask for -1 ± 0.1).",
    )


def _both(table: pd.DataFrame, scale: Mapping[str, float]) -> list[Finding]:
    most = table[table["records"] == table["records"].max()]
    found = {}
    for p in (0.3, 0.4):
        at = most[most["p"] == p].set_index("node")["ckl"]
        found[p] = {node: float(at[node]) / scale[node] for node in NODES}
    listed = {p: ", ".join(f"{s:.1%} ({n})" for n, s in found[p].items()) for p in found}
    both = Finding(
        max(found[0.3].values()) <= GOOD,
        f"With {most['records'].iloc[0]:,} records privacy and accuracy can both be good: at p ="
        f" 0.3 the distances are {listed[0.3]} of what ignoring the node's parents would have (we"
        f" call up to {GOOD:.0%} good).",
    )
    return [both, Finding(None, f"At p = 0.4 they are {listed[0.4]} of it.")]


def _exchange(table: pd.DataFrame) -> Finding:
    few = where(table, node="D", records=table["records"].min())
    rows = few.set_index("p")["predicted"]
    return Finding(
        None,
        "What randomization costs in records, for node D: p = 0.2, 0.3 and 0.4 need"
        f" {rows[0.2] / rows[0.1]:.0f}, {rows[0.3] / rows[0.1]:.0f} and"
        f" {rows[0.4] / rows[0.1]:.0f} times the records of p = 0.1.",
    )


def _draw_5_8(figure: Figure, table: pd.DataFrame) -> None:
    axes = figure.subplots(2, 2).ravel()
    for axis, node in zip(axes, NODES, strict=False):
        for p, colour, marker in zip(LEVELS_5_8[:3], style.shades(3), style.MARKERS, strict=False):
            rows = where(table, node=node, p=p)
            curve(axis, rows, "records", colour, marker, f"p = {p:g}")
        axis.set_title(f"node {node}, p up to 0.3")
    colours = (style.BLUE, style.RED, style.GREEN)
    for node, named, marker in zip(NODES, colours, style.MARKERS, strict=False):
        rows = where(table, node=node, p=0.4)
        curve(axes[-1], rows, "records", named, marker, f"node {node}")
    axes[-1].set_title("p = 0.4")
    for axis in axes:
        axis.set_yscale("log")
        thousands(axis, sorted(table["records"].unique())[::2])
        axis.legend(loc="upper right")
    for axis in axes[2:]:
        axis.set_xlabel("records N")
    for axis in axes[::2]:
        axis.set_ylabel("conditional KL, nats")
    (above,) = axes[2].plot([], [], ":", color=style.BLACK)
    (dashed,) = axes[2].plot([], [], "--", color=style.BLACK, linewidth=1)
    figure.legend(
        [above, dashed], ["mean + one deviation", "predicted"], loc="outside lower left", ncols=2
    )


MA_5_8 = Experiment(
    name="ma-5.8",
    title="Conditional KL distance of three nodes against the number of records",
    source="Ma (2006), figure 5.8",
    run=run_5_8,
    choices=(
        ma_laws.SIX_NODES,
        SMOOTHED,
        "The samples are parts of one of 640,000 records, which the ten runs randomize.",
    ),
)
