"""Ma and MaSiv: the estimated parameters of a node.

Against p itself (Ma 5.4), and p*, the largest p that keeps an accuracy, against the number of
records (Ma 5.5); MaSiv's figure 4 is both, with a miner and without.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    counted,
    family,
    flips,
    learner_of,
    parameter_errors,
    six_sample,
)
from pramana.setups import SeededOwner
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
"""What we call almost no error: the smaller of the two thresholds of the paper's figure 5.5."""

REASONABLE = 0.10
"""What we call reasonably good, for a single run's standard error."""

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
    """Return the node's parameters by the counts of its family."""
    shares: Tensor = (counts[..., 0] / counts.sum(axis=-1)).ravel()
    return shares


def theory(counts: Tensor, p: float, *, exact: bool = False) -> Tensor:
    """Return errors given the records by combination of parents; the node's axis is the last."""
    flip = flips(p)
    matrices = [*[flip] * (counts.ndim - 1), np.eye(2) if exact else flip]
    return parameter_errors(counts, matrices)[..., 0].ravel()


def over_runs(
    setting: Setting, label: str, work: Iterable[tuple[str, float]], given: Sequence[object]
) -> pd.DataFrame:
    """Return node D's parameters by setup and p: clean, over ten runs of one sample, by theory."""
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
            # Without a miner D's own values are exact.
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
        "It calls the estimates reasonably good up to p = 0.3. There a single run's standard"
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
"""What "the smallest p (obtained by averaging over ten runs) for which the absolute value of the
estimation error exceeds c" can mean; all are means over the four parameters."""


def p_star(
    owner: SeededOwner,
    codes: Mapping[str, Codes],
    setup: str,
    thresholds: Sequence[float],
    readings: Iterable[str],
) -> dict[tuple[float, str], float]:
    """Return p* by threshold and reading: the first p, in steps of 0.01, whose error exceeds c.

    What stays below c up to p = 0.45 counts with that.
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
    """Return p* by setup, number of records, threshold and reading; samples are parts of one.

    `labels` names the owner and the stream of the sample.
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
            # Ten runs leave p* some noise: one step back is no contradiction.
            (np.diff(stars) > -0.015).all() and stars[-1] > stars[0],
        )


def _draw_5_5(figure: Figure, table: pd.DataFrame) -> None:
    axes = figure.subplots(1, 2, sharey=True)
    for axis, threshold, part in zip(axes, THRESHOLDS, "ab", strict=True):
        rows = where(table, threshold=threshold)
        style.curve(axis, rows["records"], rows["p_star"], style.BLUE, "o", "p*, ten runs")
        thousands(axis, rows["records"].tolist())
        axis.set(title=f"({part}) c = {threshold:.0%}", xlabel="records N")
    axes[0].set(ylim=(0, 0.5), ylabel="p*, smallest p with an error above c")


LEVELS_4 = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35)
SIZES_4 = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000)
THRESHOLD = 0.02


def run_masiv_4(setting: Setting) -> Result:
    """Do both in both setups, and read p* in three ways."""
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
    # The paper shows no figure of setup I: its claims are checked with a miner alone.
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
            f"Figure 4 (top), {setup}: reasonably good up to p = 0.3, it says. A single run's"
            f" standard error is up to {error:.3f} (we call {REASONABLE:.2f} good).",
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
