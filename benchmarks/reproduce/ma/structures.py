"""Ma figures 5.7 to 5.10: how far learned networks are from the true ones.

Figures 5.7 and 5.8 have the conditional Kullback-Leibler distance of one node's parameters (Ma
5.6.3), in nats, against p and against N; 5.9 and 5.10 links in error and divergence against p.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd

from benchmarks.reproduce import data
from benchmarks.reproduce.engine import (
    Axes,
    Experiment,
    Figure,
    Finding,
    Result,
    Setting,
    claim,
    curves,
    flips,
    parameter_errors,
    thousands,
    where,
)
from pramana.setups import SeededOwner
from pramana.simulate.links import SMOOTHED, compare, fitted
from pramana.simulate.sources import NetworkSource
from pramana.simulate.study import Trials
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.common.options import Scoring, Search
from pramana_core.learn.networks.network import kl_divergence
from pramana_core.learn.networks.structure_learning import learn_structure
from pramana_core.marginals.counts import Codes, Tensor
from pramana_core.pictures import plots as style

NODES = "CDF"
"""The nodes whose distances are shown."""

COLOURS = (style.BLUE, style.RED, style.GREEN)

GOOD = 0.1
"""What we call good accuracy: at most this share of the distance that ignoring the parents has."""

SMALL = 0.01
"""Up to this many nats a distance is taken for what its second-order expansion says."""


def conditional_kl(counts: Tensor, estimate: Tensor) -> float:
    """Return sum_j P(j) KL(P0(. | j) || P1(. | j)): counts give P and P0, `estimate` is P1."""
    joint = counts / counts.sum()
    clean = counts / counts.sum(axis=-1, keepdims=True)
    seen = joint > 0
    return float(np.sum(joint[seen] * np.log(clean[seen] / estimate[seen])))


def distances(
    owner: SeededOwner, codes: Mapping[str, Codes], p: float, run: int, nodes: str = NODES
) -> tuple[float, ...]:
    """Randomize records, learn the parameters of some nodes and return their distances."""
    structure = data.family(*nodes)
    plan = data.six_plan(p, "".join(structure.nodes))
    columns = {name: codes[name] for name in plan.domain.names}
    learned = fitted(EstimatedMarginals(owner.report(plan, columns, run), plan), structure)
    return tuple(
        conditional_kl(data.counted(dict(codes), node), learned.tables[node]) for node in nodes
    )


def predicted(counts: Tensor, p: float) -> float:
    """Return the mean distance that the standard errors predict while they are small.

    To second order KL(q || q + e) is sum e^2 / 2 q, so that its mean is that of the variances.
    """
    variance = parameter_errors(counts, [flips(p)] * counts.ndim) ** 2
    margin = counts.sum(axis=-1, keepdims=True)
    return float(np.sum(margin / counts.sum() * variance / (2 * counts / margin)))


def ignoring_parents(counts: Tensor) -> float:
    """Return the distance if the parents are ignored: the information they have on the node."""
    alone = counts.sum(axis=tuple(range(counts.ndim - 1)))
    return conditional_kl(counts, np.broadcast_to(alone / alone.sum(), counts.shape))


def measured(
    owner: SeededOwner, codes: Mapping[str, Codes], p: float, runs: int
) -> list[tuple[str, float, float, float]]:
    """Return a row per node: mean and deviation over the runs, and what theory predicts."""
    found = np.array([distances(owner, codes, p, index) for index in range(runs)])
    expected = [predicted(data.counted(dict(codes), node), p) for node in NODES]
    rows = zip(NODES, found.mean(axis=0), found.std(axis=0, ddof=1), expected, strict=True)
    return list(rows)


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
    codes = data.six_sample(RECORDS_5_7, setting.rng("ma-5.7"))
    levels = LEVELS_5_7[1::2] if setting.quick else LEVELS_5_7
    runs = QUICK_RUNS_5_7 if setting.quick else RUNS_5_7
    owner = SeededOwner.of("ma-5.7", setting.seed, RECORDS_5_7)
    rows = [
        (node, p, *numbers)
        for p in setting.steps(levels)
        for node, *numbers in measured(owner, codes, p, runs)
    ]
    table = pd.DataFrame(rows, columns=["node", "p", "ckl", "sd", "predicted"])
    wide = table.pivot_table(index="p", columns="node", values=["ckl", "predicted"])
    rank = wide["ckl"].corrwith(pd.Series(wide.index, index=wide.index), method="spearman")
    seen, theory = wide["ckl"].loc[0.3], wide["predicted"].loc[0.3]
    share = {n: seen[n] / ignoring_parents(data.counted(codes, n)) for n in NODES}
    small = table[table["predicted"] <= SMALL]
    findings = (
        claim(
            "More randomization is a larger distance: the rank correlations with p are"
            f" {', '.join(f'{rank[n]:.2f} ({n})' for n in NODES)} (we ask for 0.9).",
            (rank >= 0.9).all(),
        ),
        claim(
            f"With {RECORDS_5_7:,} records the accuracy is still good at p = 0.3: the distances are"
            f" {', '.join(f'{seen[n]:.3f} ({n}, {share[n]:.0%})' for n in NODES)} nats, with the"
            " share of the distance that ignoring the node's parents would have (we call up to"
            f" {GOOD:.0%} good).",
            max(share.values()) <= GOOD,
        ),
        claim(
            "Two parents cost more than one: at p = 0.3 the predicted distance of D is"
            f" {theory['D'] / theory['C']:.0f} times that of C, and that of F"
            f" {theory['F'] / theory['C']:.0f} times."
        ),
        claim(
            "The errors of theorem 5.2 predict the mean distance as sum P(j) Var / 2 theta: where"
            f" that is at most {SMALL:g}, the distances are"
            f" {float((small['ckl'] / small['predicted']).mean()):.2f} times it on average."
        ),
    )
    return Result({"ckl": table}, findings, lambda figure: _draw_5_7(figure, table))


def _draw_5_7(figure: Figure, table: pd.DataFrame) -> None:
    axes = figure.subplots(1, 2)
    for axis in axes:
        for node, colour, marker in zip(NODES, COLOURS, style.MARKERS, strict=False):
            curve(axis, where(table, node=node), "p", colour, marker, f"node {node}")
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
        data.SIX_NODES,
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
    codes = data.six_sample(max(sizes), setting.rng("ma-5.8"))
    owner = SeededOwner.of("ma-5.8", setting.seed, max(sizes))
    rows = []
    for records, p in setting.steps(product(sizes, LEVELS_5_8), cost=lambda part: part[0]):
        some = {name: column[:records] for name, column in codes.items()}
        rows += [(n, p, records, *rest) for n, *rest in measured(owner, some, p, RUNS_5_8)]
    table = pd.DataFrame(rows, columns=["node", "p", "records", "ckl", "sd", "predicted"])
    wide = table.pivot_table(index="records", columns=["node", "p"], values="ckl")
    factor = wide.iloc[0] / wide.iloc[-1]
    small = table[table["predicted"] <= SMALL]
    # 5.4.2: the variance is of the order 1 / N, and so is the distance.
    slope = np.polyfit(np.log(small["records"]), np.log(small["ckl"] / small["predicted"]), 1)[0]
    scale = {n: ignoring_parents(data.counted(codes, n)) for n in NODES}
    share = {p: {n: wide.iloc[-1][n, p] / scale[n] for n in NODES} for p in (0.3, 0.4)}
    listed = {p: ", ".join(f"{s:.1%} ({n})" for n, s in share[p].items()) for p in share}
    few = where(table, node="D", records=min(sizes)).set_index("p")["predicted"]
    findings = (
        claim(
            f"More records bring the distance down: from {min(sizes):,} to {max(sizes):,} it falls"
            f" for {(factor > 1).sum()} of {len(factor)} nodes and levels, by factors from"
            f" {factor.min():.0f} to {factor.max():.0f}.",
            (factor > 1).all(),
        ),
        claim(
            "The variance, and with it the distance, is of the order 1 / N: where the prediction"
            f" is at most {SMALL:g} nats the distances fall as N^{slope - 1:.2f} (we ask for -1 ±"
            " 0.1).",
            abs(slope) <= 0.1,
        ),
        claim(
            f"With {max(sizes):,} records privacy and accuracy can both be good: at p = 0.3 the"
            f" distances are {listed[0.3]} of what ignoring the node's parents would have (we call"
            f" up to {GOOD:.0%} good).",
            max(share[0.3].values()) <= GOOD,
        ),
        claim(f"At p = 0.4 they are {listed[0.4]} of it."),
        claim(
            "What randomization costs in records, for node D: p = 0.2, 0.3 and 0.4 need"
            f" {few[0.2] / few[0.1]:.0f}, {few[0.3] / few[0.1]:.0f} and"
            f" {few[0.4] / few[0.1]:.0f} times the records of p = 0.1."
        ),
    )
    return Result({"ckl": table}, findings, lambda figure: _draw_5_8(figure, table), height=7.2)


def _draw_5_8(figure: Figure, table: pd.DataFrame) -> None:
    axes = figure.subplots(2, 2).ravel()
    for axis, node in zip(axes, NODES, strict=False):
        for p, colour, marker in zip(LEVELS_5_8[:3], style.shades(3), style.MARKERS, strict=False):
            curve(axis, where(table, node=node, p=p), "records", colour, marker, f"p = {p:g}")
        axis.set_title(f"node {node}, p up to 0.3")
    for node, named, marker in zip(NODES, COLOURS, style.MARKERS, strict=False):
        curve(axes[-1], where(table, node=node, p=0.4), "records", named, marker, f"node {node}")
    axes[-1].set_title("p = 0.4")
    for axis in axes:
        axis.set_yscale("log")
        thousands(axis, sorted(table["records"].unique())[::2])
        axis.legend(loc="upper right")
    for axis in axes[2:]:
        axis.set_xlabel("records N")
    for axis in axes[::2]:
        axis.set_ylabel("conditional KL, nats")
    axes[2].set_xlabel("records N (dotted: mean + one deviation; dashed: predicted)")


MA_5_8 = Experiment(
    name="ma-5.8",
    title="Conditional KL distance of three nodes against the number of records",
    source="Ma (2006), figure 5.8",
    run=run_5_8,
    choices=(
        data.SIX_NODES,
        SMOOTHED,
        "The samples are parts of one of 640,000 records, which the ten runs randomize.",
    ),
)


RECORDS = 10_000
RUNS, QUICK_RUNS = 20, 5
LEVELS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
PUBLISHED = Search(order=data.STRUCTURE.nodes, max_parents=3, refine=False)
"""K2 as the paper has it, for its scores; ours also drops and exchanges parents."""

OURS = "likelihood of the reports"

Scores = Mapping[str, Callable[[float], Scoring]]
"""The score of each curve, for every p."""

CHOICE = (
    f"A new sample of {RECORDS:,} in each of {RUNS} runs ({QUICK_RUNS} with --quick); the"
    " paper does not say how many it took."
)


def compared(setting: Setting, scores: Scores) -> Result:
    """Learn by the paper's K2 with each threshold, and by ours; compare with its claims."""
    rows = learned(setting, scores)
    table = summarized(rows)
    weakest, stronger, strongest = scores
    findings = (
        grows(table, weakest),
        protects(table, weakest, stronger),
        protects(table, stronger, strongest),
        always_extra(rows, list(scores)),
        *ours(table, list(scores)),
    )
    return Result({"means": table, "runs": rows}, findings, lambda figure: draw(figure, table))


def learned(setting: Setting, scores: Scores) -> pd.DataFrame:
    """Learn a structure by every score at every p; returns one row per run.

    All scores and levels see the same samples, and all scores the same reports.
    """
    runs = QUICK_RUNS if setting.quick else RUNS
    truth = data.network()
    every: Scores = {**scores, OURS: lambda _: Scoring()}
    rows = []
    for done, p in enumerate(LEVELS):
        source = NetworkSource("six nodes", truth)
        for trial in Trials(source, data.six_plan(p), RECORDS, runs, setting.seed):
            marginals = EstimatedMarginals(trial.reported, data.six_plan(p))
            for name, scoring in every.items():
                search = replace(PUBLISHED, refine=name == OURS)
                found = learn_structure(marginals, scoring(p), search, draws=0).structure
                errors = compare(found, truth.structure, by_class=False)
                kl = kl_divergence(truth, fitted(marginals, found))
                rows.append((p, trial.index, name, errors.extra, errors.missing, kl))
            setting.progress((done + (trial.index + 1) / runs) / len(LEVELS))
    return pd.DataFrame(rows, columns=["p", "run", "score", "extra", "missing", "kl"])


def summarized(rows: pd.DataFrame) -> pd.DataFrame:
    """Return means over the runs with standard errors, per setup, records, score and p."""
    rows = rows.assign(errors=rows["extra"] + rows["missing"])
    by = [name for name in ("setup", "records", "score", "p") if name in rows]
    counted = ("extra", "missing", "new", "lost", "errors", "kl")
    groups = rows.groupby(by, sort=False)
    means = groups[[name for name in counted if name in rows]].mean()
    for column in ("errors", "kl"):
        means[f"{column}_se"] = groups[column].sem()
    return means.reset_index()


def grows(table: pd.DataFrame, score: str) -> Finding:
    """Estimation errors make links, so that more randomization makes more (5.5.2)."""
    rows = table[table["score"] == score]
    first, last = rows.iloc[0], rows.iloc[-1]
    return claim(
        f"Unprotected ({score}), estimation errors make links: {first['errors']:.1f} in error at"
        f" p = {first['p']:g}, {last['errors']:.1f} at p = {last['p']:g}.",
        last["errors"] > first["errors"],
    )


def protects(table: pd.DataFrame, weaker: str, stronger: str) -> Finding:
    """Compare two thresholds over all levels."""
    wide = table.pivot_table(index="p", columns="score", values="errors")
    fewer = wide[stronger] <= wide[weaker]
    return claim(
        f"The stronger threshold has fewer links in error: {stronger} against {weaker} at"
        f" {fewer.sum()} of {len(fewer)} levels; {wide[stronger].iloc[-1]:.1f} against"
        f" {wide[weaker].iloc[-1]:.1f} at p = {wide.index[-1]:g}.",
        fewer.all(),
    )


def always_extra(rows: pd.DataFrame, names: list[str]) -> Finding:
    """The paper's figures have one missing link in all."""
    papers = rows[rows["score"].isin(names)]
    by_name = papers.groupby("score", sort=False)["missing"].sum()
    listed = ", ".join(f"{count} ({name})" for name, count in by_name.items())
    return claim(
        "The links in error are extra ones, with one exception: in"
        f" {len(papers) // len(names)} runs each, links are missing {listed}.",
        int(by_name.sum()) <= 1,
    )


def ours(table: pd.DataFrame, names: list[str]) -> list[Finding]:
    """Hold the likelihood of the reports, which has no threshold, against the curves."""
    errors = table.pivot_table(index="p", columns="score", values="errors").tail(3)
    kl = table.pivot_table(index="p", columns="score", values="kl").iloc[-1]
    listed = ", ".join(f"{value:.2f} at p = {p:g}" for p, value in errors[OURS].items())
    best = ", ".join(f"{value:.2f}" for value in errors[names].min(axis=1))
    return [
        claim(
            f"The likelihood of the reports, the same at every p, has {listed} links in error; the"
            f" best of the three thresholds at each of these levels has {best}."
        ),
        claim(
            f"Its divergence is {kl[OURS]:.3f} nats at p = {LEVELS[-1]:g}; those of the thresholds"
            f" are {', '.join(f'{kl[n]:.3f} ({n})' for n in names)}."
        ),
    ]


def draw(figure: Figure, table: pd.DataFrame) -> None:
    """Draw links in error and divergence against p, with standard errors."""
    axes = figure.subplots(1, 2)
    colours = (style.BLUE, style.ORANGE, style.GREEN, style.RED)
    names = dict.fromkeys(table["score"])
    looks = {
        name: (colour, marker, "--" if name == OURS else "-")
        for name, colour, marker in zip(names, colours, style.MARKERS, strict=False)
    }
    for axis, column, label in (
        (axes[0], "errors", "links in error, extra and missing"),
        (axes[1], "kl", "KL from the true network, nats"),
    ):
        curves(axis, table, "p", column, "score", error=f"{column}_se", looks=looks)
        axis.set(xlabel="probability p of a flip", ylabel=label)
    axes[0].set(ylim=(0, None), title="(a)")
    axes[1].set(title="(b)", yscale="log")
    # In (a) a curve rises through the corner that (b) leaves free.
    axes[1].legend(loc="upper left")


def variable_eta(p: float) -> float:
    """Return the eta of 5.6.4 that depends on p; it is given up to p = 0.3."""
    if p <= 0.15:
        return 0.99
    return 0.98 if p <= 0.25 else 0.97


BAYESIAN: Scores = {
    "η = 1": lambda _: Scoring("bayesian"),
    "η = 0.99": lambda _: Scoring("bayesian", eta=0.99),
    "variable η": lambda p: Scoring("bayesian", eta=variable_eta(p)),
}
BIC: Scores = {
    "C* = 1": lambda _: Scoring("bic"),
    "C* = 4": lambda _: Scoring("bic", c_star=4.0),
    "C* = 8": lambda _: Scoring("bic", c_star=8.0),
}

MA_5_9 = Experiment(
    name="ma-5.9",
    title="Structure learning by the Bayesian score, and by the likelihood of the reports",
    source="Ma (2006), figure 5.9",
    run=lambda setting: compared(setting, BAYESIAN),
    choices=(
        data.SIX_NODES,
        CHOICE,
        SMOOTHED,
        (
            "eta: a parent is added if the new logarithmic score exceeds eta times the old one;"
            " both are negative. Each cell has a Dirichlet parameter of 1."
        ),
    ),
)

MA_5_10 = Experiment(
    name="ma-5.10",
    title="Structure learning by BIC, and by the likelihood of the reports",
    source="Ma (2006), figure 5.10",
    run=lambda setting: compared(setting, BIC),
    choices=(
        data.SIX_NODES,
        CHOICE,
        SMOOTHED,
        "The penalty is C* (log N) / 2 per parameter; the paper prints N / 2.",
    ),
)
