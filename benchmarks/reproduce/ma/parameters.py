"""Ma and MaSiv: the estimated parameters of nodes, and their distance from the true ones.

Figure 5.4 shows the parameters of one node over p. Figure 5.5 shows p*, the largest p that keeps an
accuracy, over the count of records. MaSiv's figure 4 shows both, with and without a miner. Figures
5.7 and 5.8 show conditional Kullback-Leibler distances (Ma 5.6.3), in nats, over p and over the
count of records.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.reproduce.engine import (
    LOOKS,
    Claim,
    Figure,
    Result,
    Setting,
    curves,
    thousands,
    where,
)
from benchmarks.reproduce.networks import (
    BOTH,
    MINER,
    PEERS,
    Learner,
    counted,
    family,
    flips,
    learner_of,
    parameter_errors,
    six_plan,
    six_sample,
)
from pramana.setups import SeededOwner
from pramana.simulate.links import fitted
from pramana_core.channels import Symmetric
from pramana_core.learn.networks.bayes_net import learn_parameters
from pramana_core.marginals.counts import Codes, Tensor
from pramana_core.pictures import plots as style
from pramana_core.privacy import gamma, k_anonymity
from pramana_core.ties import first_largest

# Node D of the six: parameters against p (Ma 5.4, MaSiv 4 top), and p* (Ma 5.5, MaSiv 4 bottom).
NODE = "D"
REPEATS = 10
RECORDS = 5_000

ALMOST_NONE = 0.02
"""The largest error that we call "almost none": the smaller threshold of figure 5.5."""

REASONABLE = 0.10
"""The largest standard error of a single run that we call "reasonably good"."""

GIVEN = ("B = 1, C = 1", "B = 1, C = 2", "B = 2, C = 1", "B = 2, C = 2")


def estimates(
    owner: SeededOwner, codes: Mapping[str, Codes], setup: str, p: float, runs: int = REPEATS
) -> Tensor:
    """Return a setup's raw estimates of Pr(D = 1 | B, C) by run, shape (runs, 4)."""
    learner = learner_of(setup, p, NODE)
    learned = (
        learn_parameters(learner.marginals(owner, codes, index), family(NODE)).families[-1]
        for index in range(runs)
    )
    return np.array([one.estimate[..., 0].ravel() for one in learned])


def clean_of(counts: Tensor) -> Tensor:
    """Return the node's parameters from the counts of its family."""
    shares: Tensor = (counts[..., 0] / counts.sum(axis=-1)).ravel()
    return shares


def theory(counts: Tensor, p: float, *, exact: bool = False) -> Tensor:
    """Return standard errors given the records, by combination of the parents."""
    flip = flips(p)
    matrices = [*[flip] * (counts.ndim - 1), np.eye(2) if exact else flip]
    return parameter_errors(counts, matrices)[..., 0].ravel()


def over_runs(
    setting: Setting, label: str, work: Iterable[tuple[str, float]], given: Sequence[object]
) -> pd.DataFrame:
    """Return node D's clean parameters, theoretical errors and ten runs' results."""
    codes = six_sample(RECORDS, setting.rng(label))
    counts = counted(codes, NODE)
    owner = SeededOwner.of(label, setting.seed, RECORDS)
    tables = []
    for setup, p in setting.steps(work):
        found = estimates(owner, codes, setup, p)
        columns = {
            "clean": clean_of(counts),
            "mean": found.mean(axis=0),
            "sd": found.std(axis=0, ddof=1),
            # Without a miner, D's own values are exact.
            "theory_sd": theory(counts, p, exact=setup == PEERS),
        }
        tables.append(pd.DataFrame({"setup": setup, "p": p, "given": given, **columns}))
    return pd.concat(tables, ignore_index=True)


LEVELS_5_4 = tuple(round(0.025 * k, 3) for k in range(1, 15))


def run_5_4(setting: Setting) -> Result:
    """Randomize one sample ten times at every p and estimate the parameters of node D."""
    levels = LEVELS_5_4[1::2] if setting.quick else LEVELS_5_4
    table = over_runs(setting, "ma-5.4", itertools.product([MINER], levels), GIVEN)
    table = table.drop(columns="setup")
    return Result({"parameters": table}, _node_claims(table), _draw_5_4)


def _node_claims(table: pd.DataFrame) -> Iterator[Claim]:
    low = table[table["p"] <= 0.25]
    off = (low["mean"] - low["clean"]).abs()
    worst = low.iloc[first_largest(off, scale=1.0)]
    yield Claim(
        "The paper sees almost no error up to p = 0.25. There the means of ten runs differ from"
        f" the clean estimates by up to {off.max():.3f} (given {worst['given']}, p ="
        f" {worst['p']:g}; we call up to {ALMOST_NONE} almost none). A single run's standard"
        f" error is up to {low['theory_sd'].max():.3f}.",
        off.max() <= ALMOST_NONE,
    )
    high = table[(table["p"] > 0.25) & (table["p"] <= 0.3)]["theory_sd"]
    yield Claim(
        "The paper calls the estimates reasonably good up to p = 0.3. There a single run's standard"
        f" error is {high.min():.3f} to {high.max():.3f} (we call up to {REASONABLE:.2f}"
        " reasonably good).",
        high.max() <= REASONABLE,
    )


def _draw_5_4(figure: Figure, table: pd.DataFrame) -> None:
    axis = figure.subplots()
    curves(axis, table, "p", "mean", "given", error="sd", label="D = 1 | {}", capsize=2)
    for (colour, _, _), (_, rows) in zip(LOOKS, table.groupby("given"), strict=False):
        low, high = (rows["clean"] + sign * rows["theory_sd"] for sign in (-1, 1))
        axis.fill_between(rows["p"], low, high, color=colour, alpha=0.12, linewidth=0)
        axis.axhline(rows["clean"].iloc[0], color=colour, linewidth=0.8, linestyle="--")
    axis.fill_between([], [], [], color=style.GREY, alpha=0.3, label="clean ± predicted deviation")
    axis.set(
        ylim=(-0.2, 1.2),
        xlim=(0, table["p"].max() + 0.01),
        xlabel="probability p of a flip",
        ylabel=f"estimated parameter, mean of {REPEATS} runs",
    )
    axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


STEP, LAST = 0.01, 0.45

READINGS = {
    "error": "error of ten runs' mean",
    "mean error": "mean error of ten runs",
    "mean p*": "mean of ten runs' p*",
}
"""Readings of "the smallest p (obtained by averaging over ten runs) for which the absolute value of
the estimation error exceeds c"; all are means over the four parameters."""


def p_star(
    owner: SeededOwner,
    codes: Mapping[str, Codes],
    setup: str,
    thresholds: Sequence[float],
    readings: Iterable[str],
) -> dict[tuple[float, str], float]:
    """Return p*, the first p (in steps of 0.01) whose error exceeds c, by c and by reading.

    If the error stays below c up to p = 0.45, p* is 0.45.
    """
    clean = clean_of(counted(codes, NODE))
    wanted = list(itertools.product(thresholds, readings))
    found: dict[tuple[float, str], float] = {}
    alone = {c: np.full(REPEATS, np.nan) for c in thresholds}
    for p in np.arange(STEP, LAST + STEP / 2, STEP).round(2).tolist():
        off = estimates(owner, codes, setup, p) - clean
        each = np.abs(off).mean(axis=1)
        errors = {"error": np.abs(off.mean(axis=0)).mean(), "mean error": each.mean()}
        for c in thresholds:
            alone[c][np.isnan(alone[c]) & (each > c)] = p
            for reading in errors:
                if errors[reading] > c:
                    found.setdefault((c, reading), p)
            if not np.isnan(alone[c]).any():
                found.setdefault((c, "mean p*"), float(alone[c].mean()))
        if found.keys() >= set(wanted):
            break
    for c in thresholds:
        found.setdefault((c, "mean p*"), float(np.nan_to_num(alone[c], nan=LAST).mean()))
    return {key: found.get(key, LAST) for key in wanted}


def p_stars(
    setting: Setting,
    labels: tuple[str, Sequence[str]],
    setups: Sequence[str],
    sizes: Sequence[int],
    thresholds: Sequence[float],
    readings: Sequence[str],
) -> pd.DataFrame:
    """Return p* by setup, count of records, threshold and reading of the definition.

    `labels` contains the name of the owner and the name of the sample's random stream.
    """
    codes = six_sample(max(sizes), setting.rng(*labels[1]))
    owner = SeededOwner.of(labels[0], setting.seed, max(sizes))
    rows = []
    for setup, records in setting.steps(itertools.product(setups, sizes)):
        some = {node: column[:records] for node, column in codes.items()}
        found = p_star(owner, some, setup, thresholds, readings)
        rows += [(setup, records, *key, p) for key, p in found.items()]
    return pd.DataFrame(rows, columns=["setup", "records", "threshold", "reading", "p_star"])


THRESHOLDS = (0.02, 0.04)
RECORDS_5_5 = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000)


def run_5_5(setting: Setting) -> Result:
    """Raise p until the mean absolute error exceeds each threshold, at every sample size."""
    sizes = RECORDS_5_5[:4] if setting.quick else RECORDS_5_5
    labels = ("ma-5.5", ["ma-5.5"])
    stars = p_stars(setting, labels, [MINER], sizes, THRESHOLDS, ["mean error"])
    table = stars.drop(columns=["setup", "reading"])
    return Result({"p-star": table}, _star_claims(table, sizes), _draw_5_5)


def _star_claims(table: pd.DataFrame, sizes: Sequence[int]) -> Iterator[Claim]:
    for c in THRESHOLDS:
        stars = where(table, threshold=c)["p_star"].to_numpy()
        yield Claim(
            f"c = {c:.0%}: p* grows with the number of records, from {stars[0]:.2f} with"
            f" {sizes[0]:,} to {stars[-1]:.2f} with {sizes[-1]:,}.",
            # p* of ten runs is noisy: one step down is not a contradiction.
            (np.diff(stars) > -0.015).all() and stars[-1] > stars[0],
        )


def _draw_5_5(figure: Figure, table: pd.DataFrame) -> None:
    axes = figure.subplots(1, 2, sharey=True)
    for axis, threshold, part in zip(axes, THRESHOLDS, "ab", strict=True):
        rows = where(table, threshold=threshold)
        axis.plot(
            rows["records"],
            rows["p_star"],
            "o-",
            color=style.BLUE,
            label="p*, ten runs",
            markersize=5,
        )
        thousands(axis, rows["records"].tolist())
        axis.set(title=f"({part}) c = {threshold:.0%}", xlabel="records N")
    axes[0].set(ylim=(0, 0.5), ylabel="p*, smallest p with an error above c")


LEVELS_4 = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35)
SIZES_4 = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000)
THRESHOLD = 0.02


def run_masiv_4(setting: Setting) -> Result:
    """Compute both parts of the figure in both setups, with three readings of p*."""
    levels = LEVELS_4[1::2] if setting.quick else LEVELS_4
    sizes = SIZES_4[:3] if setting.quick else SIZES_4
    parameters = over_runs(
        setting.part(0.0, 0.1), "masiv-4", itertools.product(BOTH, levels), range(1, 5)
    ).rename(columns={"given": "parameter"})
    labels = ("masiv-4 p*", ["masiv-4", "p*"])
    last = setting.part(0.1, 1.0)
    stars = p_stars(last, labels, BOTH, sizes, [THRESHOLD], list(READINGS))
    stars = stars.drop(columns="threshold")
    return Result(
        {"parameters": parameters, "p-star": stars},
        (*_parameter_claims(parameters), *_reading_claims(stars)),
        _draw_masiv_4,
        height=5.2,
    )


def _parameter_claims(table: pd.DataFrame) -> Iterator[Claim]:
    # The paper has no figure of setup I: its claims are checked with a miner only.
    for setup in BOTH:
        rows = table[(table["setup"] == setup) & (table["p"] <= 0.25)]
        off = (rows["mean"] - rows["clean"]).abs().max()
        error = rows["theory_sd"].max() / math.sqrt(REPEATS)
        yield Claim(
            f"Figure 4 (top), {setup}: the paper sees almost no error up to p = 0.25. The standard"
            f" error of a mean of ten runs is up to {error:.3f} there ({ALMOST_NONE} would be"
            f" almost none); these means are off by up to {off:.3f}.",
            error <= ALMOST_NONE if setup == MINER else None,
        )
    for setup in BOTH:
        error = table[(table["setup"] == setup) & (table["p"] <= 0.3)]["theory_sd"].max()
        yield Claim(
            f"Figure 4 (top), {setup}: the paper calls it reasonably good up to p = 0.3. A single"
            f" run's standard error is up to {error:.3f} (we call {REASONABLE:.2f} good).",
            error <= REASONABLE if setup == MINER else None,
        )
    wide = table.pivot_table(index=["p", "parameter"], columns="setup", values="theory_sd")
    ratio = wide[PEERS] / wide[MINER]
    yield Claim(
        "Setup I is always better: D's own values are exact for its site, and the standard errors"
        f" of its parameters are {ratio.min():.2f} to {ratio.max():.2f} of those with a miner.",
        (ratio < 1).all(),
    )
    channel = Symmetric.from_probability(2, 0.25)
    found = (round(gamma(channel), 6), k_anonymity(channel).categories)
    yield Claim(
        f"p = 0.25 has gamma = {found[0]:g} and K* = {found[1]}, as printed.",
        found == (3.0, 2),
    )


def _reading_claims(stars: pd.DataFrame) -> Iterator[Claim]:
    for setup in BOTH:  # by the reading that chance moves least
        rows = where(stars, setup=setup, reading="mean p*")
        found = rows["p_star"].to_numpy()
        yield Claim(
            f"Figure 4 (bottom), {setup}: p* grows with the records, from {found[0]:.2f} with"
            f" {rows['records'].iloc[0]:,} to {found[-1]:.2f} with {rows['records'].iloc[-1]:,}"
            " (means of ten runs' p*).",
            (np.diff(found) > -STEP).all() and found[-1] > found[0] + STEP,
        )
    wide = where(stars, reading="mean p*").pivot_table(
        index="records", columns="setup", values="p_star"
    )
    more = wide[PEERS] - wide[MINER]
    yield Claim(
        f"Setup I keeps the accuracy up to a larger p at every N: p* is larger by {more.min():.3f}"
        f" to {more.max():.3f}.",
        (more > 0).all(),
    )


def _draw_masiv_4(figure: Figure, parameters: pd.DataFrame, stars: pd.DataFrame) -> None:
    left, right = figure.subplots(1, 2)
    for setup, dash, fill in ((MINER, "-", "full"), (PEERS, "--", "none")):
        how: dict[str, Any] = {"fillstyle": fill}
        rows = where(parameters, setup=setup)
        thetas = {k: (colour, "o", dash) for k, (colour, _, _) in enumerate(LOOKS[:4], 1)}
        how["label"] = f"θ{{}}, {setup}"
        curves(left, rows, "p", "mean", "parameter", error="sd", looks=thetas, **how)
        colour = style.BLUE if setup == MINER else style.RED
        marks = zip(READINGS.values(), "^so", (":", "--", "-"), strict=True)
        readings = {words: (colour, mark, line) for words, mark, line in marks}
        rows = where(stars.assign(reading=stars["reading"].map(READINGS)), setup=setup)
        how["label"] = f"{{}}, {setup}"
        curves(right, rows, "records", "p_star", "reading", looks=readings, **how)
    for (colour, _, _), clean in zip(LOOKS, parameters["clean"][:4], strict=False):
        left.axhline(clean, color=colour, linewidth=0.8)
    left.set(
        ylim=(-0.1, 1.2),
        xlabel="probability p of a flip",
        ylabel="Pr(D = 1 | B, C), mean of ten runs",
        title="(top) parameters; bars: a deviation over the runs",
    )
    thousands(right, stars["records"].unique().tolist())
    right.set(
        ylim=(0, 0.5),
        xlabel="records N",
        ylabel="p*, smallest p with an error above 2 %",
        title="(bottom) p* against N",
    )
    for axis in (left, right):
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, fontsize=8)


NODES = "CDF"
"""The nodes with reported distances."""

GOOD = 0.1
"""The largest good distance, as a share of the distance if the parents are ignored."""


def conditional_kl(counts: Tensor, estimate: Tensor) -> float:
    """Return sum_j P(j) KL(P0(. | j) || P1(. | j)): P and P0 from counts, P1 = `estimate`."""
    joint = counts / counts.sum()
    clean = counts / counts.sum(axis=-1, keepdims=True)
    seen = joint > 0
    return float(np.sum(joint[seen] * np.log(clean[seen] / estimate[seen])))


def ignoring_parents(counts: Tensor) -> float:
    """Return the distance if the parents are ignored: their information about the node."""
    alone = counts.sum(axis=tuple(range(counts.ndim - 1)))
    return conditional_kl(counts, np.broadcast_to(alone / alone.sum(), counts.shape))


def measured(
    owner: SeededOwner, codes: Mapping[str, Codes], p: float, runs: int
) -> list[tuple[str, float, float]]:
    """Randomize and learn repeatedly; return the mean and deviation of each `conditional_kl`."""
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
    """Return the largest ratio of a distance to the one without parents, and all as text."""
    parts = {n: found[n] / ignoring_parents(counted(codes, n)) for n in NODES}
    return max(parts.values()), ", ".join(f"{share:.1%} ({n})" for n, share in parts.items())


RECORDS_5_7 = 10_000
RUNS_5_7, QUICK_RUNS_5_7 = 50, 10
LEVELS_5_7 = tuple(round(0.025 * k, 3) for k in range(1, 18))


def run_5_7(setting: Setting) -> Result:
    """Randomize one sample repeatedly at every p, and average the distances."""
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
            "More randomization gives a larger distance: the rank correlations with p are"
            f" {', '.join(f'{rank[n]:.2f} ({n})' for n in NODES)} (we require 0.9).",
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
        f" {LEVELS_5_8[0]:g} the distances fall as N^{slope:.2f} (we require -1 ± 0.15).",
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
