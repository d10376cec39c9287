"""Ma figures 5.7 and 5.8: conditional Kullback-Leibler distances of learned parameters.

Of one node's parameters (Ma 5.6.3), in nats, against p and against the number of records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.reproduce.engine import (
    Claim,
    Figure,
    Result,
    Setting,
    curves,
    thousands,
    where,
)
from benchmarks.reproduce.networks import (
    Learner,
    counted,
    family,
    six_plan,
    six_sample,
)
from pramana.setups import SeededOwner
from pramana.simulate.links import fitted
from pramana_core.marginals.counts import Codes, Tensor

NODES = "CDF"
"""The nodes whose distances are shown."""

GOOD = 0.1
"""What we call good accuracy: at most this share of the distance that ignoring the parents has."""


def conditional_kl(counts: Tensor, estimate: Tensor) -> float:
    """Return sum_j P(j) KL(P0(. | j) || P1(. | j)): counts give P and P0, `estimate` is P1."""
    joint = counts / counts.sum()
    clean = counts / counts.sum(axis=-1, keepdims=True)
    seen = joint > 0
    return float(np.sum(joint[seen] * np.log(clean[seen] / estimate[seen])))


def ignoring_parents(counts: Tensor) -> float:
    """Return the distance if the parents are ignored: the information they have on the node."""
    alone = counts.sum(axis=tuple(range(counts.ndim - 1)))
    return conditional_kl(counts, np.broadcast_to(alone / alone.sum(), counts.shape))


def measured(
    owner: SeededOwner, codes: Mapping[str, Codes], p: float, runs: int
) -> list[tuple[str, float, float]]:
    """Randomize and learn again and again; return mean and deviation of each node's distance."""
    structure = family(*NODES)
    learner = Learner(six_plan(p, structure.nodes), NODES)
    counts = [counted(codes, node) for node in NODES]
    found = []
    for run in range(runs):
        tables = fitted(learner.marginals(owner, codes, run), structure).tables
        found.append([conditional_kl(n, tables[k]) for k, n in zip(NODES, counts, strict=True)])
    means, deviations = np.mean(found, axis=0), np.std(found, axis=0, ddof=1)
    return list(zip(NODES, means.tolist(), deviations.tolist(), strict=True))


def shares(found: Mapping[Any, float], codes: Mapping[str, Codes]) -> tuple[float, str]:
    """Return the largest share of the distance without parents that a node has, and all as text."""
    parts = {n: found[n] / ignoring_parents(counted(codes, n)) for n in NODES}
    return max(parts.values()), ", ".join(f"{share:.1%} ({n})" for n, share in parts.items())


RECORDS_5_7 = 10_000
RUNS_5_7, QUICK_RUNS_5_7 = 50, 10
LEVELS_5_7 = tuple(round(0.025 * k, 3) for k in range(1, 18))


def run_5_7(setting: Setting) -> Result:
    """Randomize one sample again and again at every p and average the distances."""
    codes = six_sample(RECORDS_5_7, setting.rng("ma-5.7"))
    levels = LEVELS_5_7[1::2] if setting.quick else LEVELS_5_7
    runs = QUICK_RUNS_5_7 if setting.quick else RUNS_5_7
    owner = SeededOwner.of("ma-5.7", setting.seed, RECORDS_5_7)
    rows = [
        (node, p, *numbers)
        for p in setting.steps(levels)
        for node, *numbers in measured(owner, codes, p, runs)
    ]
    table = pd.DataFrame(rows, columns=["node", "p", "ckl", "sd"])
    wide = table.pivot_table(index="p", columns="node", values="ckl")
    rank = wide.corrwith(pd.Series(wide.index, index=wide.index), method="spearman")
    largest, listed = shares(wide.loc[0.3].to_dict(), codes)
    findings = (
        Claim(
            "More randomization is a larger distance: the rank correlations with p are"
            f" {', '.join(f'{rank[n]:.2f} ({n})' for n in NODES)} (we ask for 0.9).",
            (rank >= 0.9).all(),
        ),
        Claim(
            f"With {RECORDS_5_7:,} records the accuracy is still good at p = 0.3: the distances are"
            f" {listed} of what ignoring the node's parents would have (we call up to"
            f" {GOOD:.0%} good).",
            largest <= GOOD,
        ),
    )
    return Result({"ckl": table}, findings, _draw_5_7)


def _draw_5_7(figure: Figure, table: pd.DataFrame) -> None:
    axes = figure.subplots(1, 2)
    for axis, error in zip(axes, ("sd", None), strict=True):
        curves(axis, table, "p", "ckl", "node", error=error, label="node {}", capsize=2)
        axis.set_xlabel("probability p of a flip")
    axes[0].set(xlim=(0, 0.32), ylim=(0, 0.1), ylabel="conditional KL distance, nats")
    axes[0].set_title("up to p = 0.3; bars: a deviation over the runs")
    axes[1].set(yscale="log", title="all, logarithmic")
    axes[0].legend(loc="upper left")


LEVELS_5_8 = (0.1, 0.2, 0.3, 0.4)
RUNS_5_8 = 10
RECORDS_5_8 = tuple(5_000 * 2**k for k in range(8))


def run_5_8(setting: Setting) -> Result:
    """Randomize ever larger parts of one sample, ten times at every p."""
    sizes = RECORDS_5_8[:5] if setting.quick else RECORDS_5_8
    codes = six_sample(max(sizes), setting.rng("ma-5.8"))
    owner = SeededOwner.of("ma-5.8", setting.seed, max(sizes))
    rows = []
    for records, p in setting.steps(product(sizes, LEVELS_5_8)):
        some = {name: column[:records] for name, column in codes.items()}
        rows += [(n, p, records, *rest) for n, *rest in measured(owner, some, p, RUNS_5_8)]
    table = pd.DataFrame(rows, columns=["node", "p", "records", "ckl", "sd"])
    return Result({"ckl": table}, _claims_5_8(table, codes), _draw_5_8, height=7.2)


def _claims_5_8(table: pd.DataFrame, codes: Mapping[str, Codes]) -> Iterator[Claim]:
    wide = table.pivot_table(index="records", columns=["node", "p"], values="ckl")
    fewest, most = wide.index[0], wide.index[-1]
    factor = wide.iloc[0] / wide.iloc[-1]
    yield Claim(
        f"More records bring the distance down: from {fewest:,} to {most:,} it falls"
        f" for {(factor > 1).sum()} of {len(factor)} nodes and levels, by factors from"
        f" {factor.min():.0f} to {factor.max():.0f}.",
        (factor > 1).all(),
    )
    # 5.4.2: the variance is of the order 1 / N, and so is the distance while it is small.
    small = where(table, p=LEVELS_5_8[0]).groupby("records")["ckl"].mean()
    slope = float(np.polyfit(np.log(small.index.to_numpy()), np.log(small.to_numpy()), 1)[0])
    yield Claim(
        "The variance, and with it the distance, is of the order 1 / N: at p ="
        f" {LEVELS_5_8[0]:g} the distances fall as N^{slope:.2f} (we ask for -1 ± 0.15).",
        abs(slope + 1) <= 0.15,
    )
    largest, listed = shares(wide.iloc[-1].xs(0.3, level="p").to_dict(), codes)
    yield Claim(
        f"With {most:,} records privacy and accuracy can both be good: at p = 0.3 the"
        f" distances are {listed} of what ignoring the node's parents would have (we call"
        f" up to {GOOD:.0%} good).",
        largest <= GOOD,
    )
    _, listed = shares(wide.iloc[-1].xs(0.4, level="p").to_dict(), codes)
    yield Claim(f"At p = 0.4 they are {listed} of it.")


def _draw_5_8(figure: Figure, table: pd.DataFrame) -> None:
    axes = figure.subplots(2, 2).ravel()
    for axis, node in zip(axes, NODES, strict=False):
        rows = where(table[table["p"] <= 0.3], node=node)
        curves(axis, rows, "records", "ckl", "p", label="p = {:g}")
        axis.set_title(f"node {node}, p up to 0.3")
    curves(axes[-1], where(table, p=0.4), "records", "ckl", "node", label="node {}")
    axes[-1].set_title("p = 0.4")
    for axis in axes:
        axis.set_yscale("log")
        thousands(axis, sorted(table["records"].unique())[::2])
        axis.legend(loc="upper right")
    for axis in axes[::2]:
        axis.set_ylabel("conditional KL, nats")
    for axis in axes[2:]:
        axis.set_xlabel("records N")
