"""The eleven nodes of Ma's table 5.2 and MaSiv's tables I and II, with and without a miner."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.reproduce.engine import Axes, Claim, Figure, Result, Setting, bars, plausible
from benchmarks.reproduce.networks import (
    BOTH,
    MINER,
    PEERS,
    Learner,
    counts_over,
    families,
    parameter_errors,
    sample,
)
from pramana import setups
from pramana.setups import OWNERS, STRUCTURE, SeededOwner
from pramana_core.channels import Dense, Transition
from pramana_core.learn.networks.bayes_net import learn_parameters
from pramana_core.marginals.counts import Codes, Tensor
from pramana_core.pictures import plots as style
from pramana_core.plan import Block, Plan
from pramana_core.privacy import gamma, k_anonymity
from pramana_core.ties import first_largest

RUNS, QUICK_RUNS = 60, 10
PAPER_RUNS = 5


def printed() -> pd.DataFrame:
    """Return table 5.2: node, mean and deviation x 10^-2 in five runs; categories vary slowest.

    E's first deviation is printed as 0.20. It must equal the deviation of its complement, 2.0,
    because the two values of a binary node deviate equally.
    """
    return pd.read_csv(Path(__file__).with_name("table_5_2.csv"))


X_PRINTED, X_OF_MA = 0.4, 0.2
"""The p of X in MaSiv's Table I, and in Ma's Table 5.1."""


def plan(x: float = X_OF_MA, exact: str = "") -> Plan:
    """Return the plan with parameter `x` for column X; columns in `exact` are unrandomized."""
    flip = Dense.binary(x, x)
    return Plan(
        tuple(
            Block(b.variables, flip) if b.names == ("X",) and "X" not in exact else b
            for b in setups.plan(exact).blocks
        )
    )


def learners(x: float = X_OF_MA) -> dict[str, tuple[Learner, ...]]:
    """Return the learners of each setup, with their plans and the nodes that they learn.

    Without a miner an owner has its own columns unrandomized and learns its own nodes (Ma 5.2.1).
    """
    return {
        MINER: (Learner(plan(x), STRUCTURE.nodes),),
        PEERS: tuple(Learner(plan(x, own), tuple(own)) for own in OWNERS.values()),
    }


def records(setting: Setting) -> dict[str, Codes]:
    """Draw the 20,000 records."""
    return sample(setups.network(), setups.RECORDS, setting.rng("ma-table-5.2"))


def learn(
    owner: SeededOwner, codes: Mapping[str, Codes], learning: Sequence[Learner], run: int
) -> Tensor:
    """Randomize and learn once; return all estimated parameters in the order of the table.

    All learners that receive a block receive the same reports.
    """
    by_node: dict[str, Tensor] = {}
    for learner in learning:
        structure = families(STRUCTURE, learner.nodes)
        learned = learn_parameters(learner.marginals(owner, codes, run), structure)
        by_node |= {f.node: f.estimate for f in learned.families if f.node in learner.nodes}
    return np.concatenate([in_order(by_node[node]) for node in STRUCTURE.nodes])


def in_order(table: Tensor) -> Tensor:
    """Return a table of parameters in the paper's order: the node's value varies slowest."""
    value: Tensor = np.moveaxis(table, -1, 0).ravel()
    return value


def errors(codes: Mapping[str, Codes], learning: Sequence[Learner]) -> Tensor:
    """Return the theoretical standard errors given the records, in the order of the table."""
    by_node: dict[str, Tensor] = {}
    for learner in learning:
        for node in learner.nodes:
            names = [*STRUCTURE.parents[node], node]
            matrices = [learner.plan.block_of(name).channel.matrix() for name in names]
            counts = counts_over(codes, setups.DOMAIN, names)
            by_node[node] = in_order(parameter_errors(counts, matrices))
    return np.concatenate([by_node[node] for node in STRUCTURE.nodes])


def parameters(codes: Mapping[str, Codes]) -> pd.DataFrame:
    """Return the true parameters in the table's order, with clean estimates and printed values."""
    network = setups.network()
    rows = []
    for node in STRUCTURE.nodes:
        counts = counts_over(codes, setups.DOMAIN, [*STRUCTURE.parents[node], node])
        margin = np.broadcast_to(counts.sum(axis=-1, keepdims=True), counts.shape)
        columns = (network.tables[node], counts / margin, margin)
        places = np.arange(network.tables[node].size)
        free = places < places.size - places.size // setups.DOMAIN[node].size
        listed = (*map(in_order, columns), places + 1, free)
        rows += [(node, *row) for row in zip(*listed, strict=True)]
    names = ["node", "true", "clean", "parents_count", "place", "free"]
    table, published = pd.DataFrame(rows, columns=names), printed()
    table.insert(4, "printed", published["mean"])
    table.insert(5, "printed_sd", published["deviation"] / 100)
    return table


def simulated(
    setting: Setting, label: str, codes: Mapping[str, Codes], parameters_of_x: Sequence[float]
) -> dict[tuple[float, str], Tensor]:
    """Randomize the records repeatedly; return the estimates by X's parameter and setup."""
    owner = SeededOwner.of(label, setting.seed, setups.RECORDS)
    runs = QUICK_RUNS if setting.quick else RUNS
    work = [(x, setup, run) for x in parameters_of_x for setup in BOTH for run in range(runs)]
    found: dict[tuple[float, str], list[Tensor]] = {}
    for x, setup, run in setting.steps(work):
        found.setdefault((x, setup), []).append(learn(owner, codes, learners(x)[setup], run))
    return {key: np.array(values) for key, values in found.items()}


def run_5_2(setting: Setting) -> Result:
    """Randomize one sample repeatedly, and learn with a miner and without one."""
    codes = records(setting)
    found = simulated(setting, "ma-table-5.2", codes, [X_OF_MA])
    table = parameters(codes)
    for name, setup in (("miner", MINER), ("peers", PEERS)):
        table[name] = found[X_OF_MA, setup].mean(axis=0)
        table[f"{name}_sd"] = found[X_OF_MA, setup].std(axis=0, ddof=1)
        table[f"{name}_se"] = errors(codes, learners()[setup])
    return Result({"parameters": table}, _claims(table), _draw, height=7.0)


def _claims(table: pd.DataFrame) -> Iterator[Claim]:
    ratio = (table["peers_se"] / table["miner_se"].where(table["miner_se"] > 0)).dropna()
    worse = int((table["peers_se"] > table["miner_se"] * (1 + 1e-9)).sum())
    yield Claim(
        "Without a miner the results are always better: by the exact standard errors given the"
        f" records, {int((ratio < 1 - 1e-9).sum())} of {len(table)} parameters have a smaller error"
        f" and {worse} a larger one; the errors are {ratio[ratio > 0].min():.2f} to"
        f" {ratio.max():.2f} times the miner's, and {int((table['peers_se'] == 0).sum())} are exact"
        f" instead of {int((table['miner_se'] == 0).sum())}.",
        worse == 0,
    )
    rows = table[table["free"] & (table["miner_se"] > 0)]
    degrees = (PAPER_RUNS - 1) * len(rows)
    statistic = float(((PAPER_RUNS - 1) * (rows["printed_sd"] / rows["miner_se"]) ** 2).sum())
    fits, low, high = plausible(statistic, degrees)
    yield Claim(
        "The deviations that Table 5.2 prints are as large as theory says of five runs with a"
        f" miner: chi-square {statistic:.0f} with {degrees} degrees of freedom (between {low:.0f}"
        f" and {high:.0f} in 999 of 1,000 tables).",
        fits,
    )
    rows = table[table["free"]]
    sampling = rows["true"] * (1 - rows["true"]) / rows["parents_count"]
    rounding = 0.005**2 / 3
    spread = np.sqrt(sampling + rows["miner_se"] ** 2 / PAPER_RUNS + rounding)
    z = ((rows["printed"] - rows["true"]) / spread).abs()
    limit = float(stats.norm.isf(0.0005 / len(z)))
    worst = rows.iloc[first_largest(z, scale=1.0)]
    yield Claim(
        "The printed means agree with figure 5.2 within the errors of one sample and five runs:"
        f" the farthest is {z.max():.1f} standard errors off (node {worst['node']}, entry"
        f" {worst['place']}; limit {limit:.1f}).",
        (z <= limit).all(),
    )


def by_node(axis: Axes, nodes: pd.Series[str]) -> None:
    """Give an axis one position per parameter, with names of nodes and lines between nodes."""
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
        look = (colour, "o", "none")
        bars(axes[0], at + shift, table[name], table[f"{name}_sd"], look, words, markersize=3)
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


PRINTED_GAMMA = {"A": 3, "D": 3, "L": 4.67, "B": 4.67, "E": 4, "X": 3, "C": 9, "F": 9}
"""Table I's amplifications."""

X_TRIED = (X_OF_MA, 0.25, X_PRINTED)
"""Values of X's p; 0.25 would have the printed gamma of 3."""

_X_WORDS = ("as Ma's Table 5.1 prints", "which has Table I's gamma of 3", "as Table I prints")

ACCURATE = 0.02
"""The largest mean error of five runs that we call accurate (threshold c in VII.B)."""


def run_masiv(setting: Setting) -> Result:
    """Compute the privacy of Table I, and compare Table II with theory, for each p of X."""
    codes = records(setting)
    estimates = simulated(setting, "masiv-table-2", codes, [X_OF_MA, X_PRINTED])
    table = parameters(codes)[["node", "true", "printed", "printed_sd", "free"]].copy()
    for x in X_TRIED:
        for setup in BOTH:
            table[f"se {x:g} {setup}"] = errors(codes, learners(x)[setup])
    for (x, setup), found in estimates.items():
        table[f"mean {x:g} {setup}"] = found.mean(axis=0)
        table[f"sd {x:g} {setup}"] = found.std(axis=0, ddof=1)
    return Result(
        {"parameters": table}, (*_privacy_claims(), *_table_claims(table, estimates)), _draw_table
    )


def channel(node: str) -> Transition:
    """Return the channel of a sensitive node in Table I."""
    return plan(X_PRINTED).block_of(node).channel


def _privacy_claims() -> Iterator[Claim]:
    for nodes in ("AD", "LB", "E", "X", "CF"):
        ours, theirs = gamma(channel(nodes[0])), PRINTED_GAMMA[nodes[0]]
        yield Claim(
            f"Table I, {' and '.join(nodes)}: gamma {ours:.4g}; the paper prints {theirs:g}.",
            round(ours, 2) == theirs,
        )
    # K* is the fewest categories that a report can come from (MaSiv II.B).
    found = {n: k_anonymity(channel(n)).categories for n in PRINTED_GAMMA}
    yield Claim(
        "K* is 2 for binary and 3 for ternary randomization:"
        f" {', '.join(f'{node} {k}' for node, k in found.items())}.",
        found == {n: setups.DOMAIN[n].size for n in found} and set(found.values()) == {2, 3},
    )


def _table_claims(
    table: pd.DataFrame, estimates: Mapping[tuple[float, str], Tensor]
) -> Iterator[Claim]:
    rows = table[table["free"] & table["node"].isin(["X", "C"])]
    degrees = (PAPER_RUNS - 1) * len(rows)
    words = dict(zip(X_TRIED, _X_WORDS, strict=True))
    for x in X_TRIED:
        ratio = rows["printed_sd"] / rows[f"se {x:g} {MINER}"]
        statistic = float(((PAPER_RUNS - 1) * ratio**2).sum())
        fits, low, high = plausible(statistic, degrees)
        yield Claim(
            f"Table II's deviations of X and C {'are' if fits else 'are not'} those of X"
            f" randomized with p = {x:g}, {words[x]}:"
            f" chi-square {statistic:.0f} with {degrees} degrees of freedom (between {low:.0f} and"
            f" {high:.0f} in 999 of 1,000 tables).",
            fits if x == X_PRINTED else None,
        )
    truth = table["true"].to_numpy()
    for x in (X_OF_MA, X_PRINTED):
        texts, worst = [], 0.0
        for setup in BOTH:
            means = estimates[x, setup].reshape(-1, PAPER_RUNS, len(truth)).mean(axis=1)
            off = np.abs(means - truth)
            texts.append(f"{off.mean():.4f} on average {setup} (the worst {off.max():.3f})")
            worst = max(worst, float(off.mean()))
        yield Claim(
            f"The parameters are learned accurately in both setups, with p = {x:g} for X: means of"
            f" five runs are off by {', '.join(texts)}; we call {ACCURATE:g} on average accurate.",
            worst <= ACCURATE,
        )
    for x in (X_OF_MA, X_PRINTED):
        miner, peers = (table[f"se {x:g} {setup}"] for setup in BOTH)
        worse = int((peers > miner * (1 + 1e-9)).sum())
        less = int((peers < miner * (1 - 1e-9)).sum())
        yield Claim(
            f"Setup I, without a miner, is always better (p = {x:g} for X): of {len(table)}"
            f" parameters {less} have smaller standard errors, {worse} larger ones.",
            worse == 0 and less > 0,
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
