"""Ma figure 5.8: the conditional Kullback-Leibler distance against the number of records."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
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

LEVELS = (0.1, 0.2, 0.3, 0.4)
RUNS = 10
DOUBLINGS = 8
RECORDS = tuple(2_500 * 2**k for k in range(1, DOUBLINGS + 1))


def run(setting: Setting) -> Result:
    """Randomize ever larger parts of one sample, ten times at every p."""
    sizes = RECORDS[:5] if setting.quick else RECORDS
    codes = six_nodes.sample(max(sizes), setting.rng("ma-5.8"))
    owner = SeededOwner.of("ma-5.8", setting.seed, max(sizes))
    rows = []
    for done, (records, p) in enumerate(product(sizes, LEVELS)):
        some = {name: column[:records] for name, column in codes.items()}
        mean, sd = ckl.moments([ckl.distances(owner, some, p, index) for index in range(RUNS)])
        for place, node in enumerate(ckl.NODES):
            theory = ckl.predicted(six_nodes.counted(some, node), p)
            rows.append((node, p, records, mean[place], sd[place], theory))
        before = sum(sizes[: done // len(LEVELS)])
        setting.progress((before + records * (done % len(LEVELS) + 1) / len(LEVELS)) / sum(sizes))
    table = pd.DataFrame(rows, columns=["node", "p", "records", "ckl", "sd", "predicted"])
    scale = {node: ckl.ignoring_parents(six_nodes.counted(codes, node)) for node in ckl.NODES}
    findings = (_falls(table), _order(table), *_both(table, scale), _exchange(table))
    return Result({"ckl": table}, findings, lambda figure: _draw(figure, table), height=7.2)


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
    rows = table[table["predicted"] <= ckl.SMALL]
    slope = np.polyfit(np.log(rows["records"]), np.log(rows["ckl"] / rows["predicted"]), 1)[0]
    return Finding(
        abs(slope) <= 0.1,
        "The variance, and with it the distance, is of the order 1 / N: where the prediction is at"
        f" most {ckl.SMALL:g} nats the distances fall as N^{slope - 1:.2f} (we ask for -1 ± 0.1).",
    )


def _both(table: pd.DataFrame, scale: Mapping[str, float]) -> list[Finding]:
    most = table[table["records"] == table["records"].max()]
    found = {}
    for p in (0.3, 0.4):
        at = most[most["p"] == p].set_index("node")["ckl"]
        found[p] = {node: float(at[node]) / scale[node] for node in ckl.NODES}
    listed = {p: ", ".join(f"{s:.1%} ({n})" for n, s in found[p].items()) for p in found}
    both = Finding(
        max(found[0.3].values()) <= ckl.GOOD,
        f"With {most['records'].iloc[0]:,} records privacy and accuracy can both be good: at p ="
        f" 0.3 the distances are {listed[0.3]} of what ignoring the node's parents would have (we"
        f" call up to {ckl.GOOD:.0%} good).",
    )
    return [both, Finding(None, f"At p = 0.4 they are {listed[0.4]} of it.")]


def _exchange(table: pd.DataFrame) -> Finding:
    few = table["records"].min()
    rows = table[(table["node"] == "D") & (table["records"] == few)].set_index("p")["predicted"]
    return Finding(
        None,
        "What randomization costs in records, for node D: p = 0.2, 0.3 and 0.4 need"
        f" {rows[0.2] / rows[0.1]:.0f}, {rows[0.3] / rows[0.1]:.0f} and"
        f" {rows[0.4] / rows[0.1]:.0f} times the records of p = 0.1.",
    )


def _draw(figure: Figure, table: pd.DataFrame) -> None:
    axes = figure.subplots(2, 2).ravel()
    for axis, node in zip(axes, ckl.NODES, strict=False):
        for p, colour, marker in zip(LEVELS[:3], style.shades(3), style.MARKERS, strict=False):
            rows = table[(table["node"] == node) & (table["p"] == p)]
            ckl.curve(axis, rows, "records", colour, marker, f"p = {p:g}")
        axis.set_title(f"node {node}, p up to 0.3")
    colours = (style.BLUE, style.RED, style.GREEN)
    for node, named, marker in zip(ckl.NODES, colours, style.MARKERS, strict=False):
        rows = table[(table["node"] == node) & (table["p"] == 0.4)]
        ckl.curve(axes[-1], rows, "records", named, marker, f"node {node}")
    axes[-1].set_title("p = 0.4")
    for axis in axes:
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        ticks = sorted(table["records"].unique())[::2]
        axis.set_xticks(ticks, [f"{n // 1000}k" for n in ticks])
        axis.minorticks_off()
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


EXPERIMENT = Experiment(
    name="ma-5.8",
    title="Conditional KL distance of three nodes against the number of records",
    source="Ma (2006), figure 5.8",
    run=run,
    choices=(
        six_nodes.CHOICE,
        SMOOTHED,
        "The samples are parts of one of 640,000 records, which the ten runs randomize.",
    ),
)
