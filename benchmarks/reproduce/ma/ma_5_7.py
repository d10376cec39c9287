"""Ma figure 5.7: the conditional Kullback-Leibler distance of three nodes against p."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from benchmarks.reproduce.data import six_nodes
from benchmarks.reproduce.experiment import Experiment, Finding, Result, Setting
from benchmarks.reproduce.ma import ckl
from pramana.setups.owner import SeededOwner
from pramana.simulate.study import SMOOTHED
from pramana_core.pictures import plots as style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RECORDS = 10_000
RUNS, QUICK_RUNS = 50, 10
LEVELS = tuple(round(0.025 * k, 3) for k in range(1, 18))


def run(setting: Setting) -> Result:
    """Randomize one sample again and again at every p and average the distances."""
    codes = six_nodes.sample(RECORDS, setting.rng("ma-5.7"))
    counts = {node: six_nodes.counted(codes, node) for node in ckl.NODES}
    levels = LEVELS[1::2] if setting.quick else LEVELS
    runs = QUICK_RUNS if setting.quick else RUNS
    owner = SeededOwner.of("ma-5.7", setting.seed, RECORDS)
    rows = []
    for done, p in enumerate(levels):
        mean, sd = ckl.moments([ckl.distances(owner, codes, p, index) for index in range(runs)])
        for place, node in enumerate(ckl.NODES):
            rows.append((node, p, mean[place], sd[place], ckl.predicted(counts[node], p)))
        setting.progress((done + 1) / len(levels))
    table = pd.DataFrame(rows, columns=["node", "p", "ckl", "sd", "predicted"])
    scale = {node: ckl.ignoring_parents(counts[node]) for node in ckl.NODES}
    findings = (_trade_off(table), _good(table, scale), _parents(table), _theory(table))
    return Result({"ckl": table}, findings, lambda figure: _draw(figure, table))


def _trade_off(table: pd.DataFrame) -> Finding:
    wide = table.pivot_table(index="p", columns="node", values="ckl")
    rank = wide.corrwith(pd.Series(wide.index, index=wide.index), method="spearman")
    return Finding(
        bool((rank >= 0.9).all()),
        "More randomization is a larger distance: the rank correlations with p are"
        f" {', '.join(f'{rank[n]:.2f} ({n})' for n in ckl.NODES)} (we ask for 0.9).",
    )


def _good(table: pd.DataFrame, scale: Mapping[str, float]) -> Finding:
    at = table[np.isclose(table["p"], 0.3)].set_index("node")["ckl"]
    shares = {node: at[node] / scale[node] for node in ckl.NODES}
    listed = ", ".join(f"{at[n]:.3f} ({n}, {shares[n]:.0%})" for n in ckl.NODES)
    return Finding(
        max(shares.values()) <= ckl.GOOD,
        f"With {RECORDS:,} records the accuracy is still good at p = 0.3: the distances are"
        f" {listed} nats, with the share of the distance that ignoring the node's parents would"
        f" have (we call up to {ckl.GOOD:.0%} good).",
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
    rows = table[table["predicted"] <= ckl.SMALL]
    ratio = float((rows["ckl"] / rows["predicted"]).mean())
    return Finding(
        None,
        "The errors of theorem 5.2 predict the mean distance as sum P(j) Var / 2 theta: where that"
        f" is at most {ckl.SMALL:g}, the distances are {ratio:.2f} times it on average.",
    )


def _draw(figure: Figure, table: pd.DataFrame) -> None:
    axes = figure.subplots(1, 2)
    colours = (style.BLUE, style.RED, style.GREEN)
    for axis in axes:
        for (node, rows), colour, marker in zip(
            table.groupby("node"), colours, style.MARKERS, strict=False
        ):
            ckl.curve(axis, rows, "p", colour, marker, f"node {node}")
        axis.set_xlabel("probability p of a flip")
    axes[0].plot([], [], ":", color=style.BLACK, label="mean + one deviation")
    axes[0].plot([], [], "--", color=style.BLACK, linewidth=1, label="predicted")
    axes[0].set_xlim(0, 0.32)
    axes[0].set_ylim(0, 0.1)
    axes[0].set_title("up to p = 0.3")
    axes[1].set_yscale("log")
    axes[1].set_title("all, logarithmic")
    axes[0].set_ylabel("conditional KL distance, nats")
    axes[0].legend(loc="upper left")


EXPERIMENT = Experiment(
    name="ma-5.7",
    title="Conditional KL distance of three nodes against the randomization parameter",
    source="Ma (2006), figure 5.7",
    run=run,
    choices=(
        six_nodes.CHOICE,
        SMOOTHED,
        f"{RUNS} runs ({QUICK_RUNS} with --quick) randomize one sample; the paper takes ten.",
    ),
)
