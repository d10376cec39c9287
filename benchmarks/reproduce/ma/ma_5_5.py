"""Ma figure 5.5: the largest randomization that keeps an accuracy, against the sample size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from benchmarks.reproduce.data import six_nodes
from benchmarks.reproduce.experiment import Experiment, Finding, Result, Setting
from benchmarks.reproduce.ma.ma_5_4 import NODE, RUNS, estimates, theory
from pramana.setups.owner import SeededOwner
from pramana_core.marginals.counts import Codes, Tensor
from pramana_core.pictures import plots as style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

THRESHOLDS = (0.02, 0.04)
RECORDS = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000)
LEVELS = tuple(round(0.01 * k, 2) for k in range(1, 46))

_ERROR = (
    "The error is the mean over ten runs and the four parameters of node D of the absolute"
    " difference to the clean estimate; p moves in steps of 0.01."
)

_MEAN_ABSOLUTE = float(np.sqrt(2 / np.pi))
"""The mean absolute value of a standard normal variable."""


def run(setting: Setting) -> Result:
    """Raise p until the mean absolute error exceeds each threshold, at every sample size."""
    sizes = RECORDS[:4] if setting.quick else RECORDS
    codes = six_nodes.sample(max(sizes), setting.rng("ma-5.5"))
    owner = SeededOwner.of("ma-5.5", setting.seed, max(sizes))
    rows = []
    for done, records in enumerate(sizes):
        some = {name: column[:records] for name, column in codes.items()}
        counts = six_nodes.counted(some, NODE)
        found = first_above(owner, some, counts)
        rows += [(records, c, found[c], predicted(counts, c)) for c in THRESHOLDS]
        setting.progress(sum(sizes[: done + 1]) / sum(sizes))
    table = pd.DataFrame(rows, columns=["records", "threshold", "p_star", "predicted"])
    findings = (*(_grows(table, c) for c in THRESHOLDS), _agreement(table))
    return Result({"p-star": table}, findings, lambda figure: _draw(figure, table))


def first_above(owner: SeededOwner, codes: dict[str, Codes], counts: Tensor) -> dict[float, float]:
    """Return the smallest p at which the error exceeds each threshold; NaN if none does.

    The error is the mean over ten runs and the four parameters of D of the absolute difference to
    the clean estimate.
    """
    clean = (counts[..., 0] / counts.sum(axis=-1)).ravel()
    found: dict[float, float] = dict.fromkeys(THRESHOLDS, np.nan)
    for p in LEVELS:
        error = float(np.abs(estimates(owner, codes, p, RUNS) - clean).mean())
        for c in THRESHOLDS:
            if np.isnan(found[c]) and error > c:
                found[c] = p
        if not np.isnan(list(found.values())).any():
            break
    return found


def predicted(counts: Tensor, threshold: float) -> float:
    """Return the p at which normal errors of theorem 5.2 have this mean absolute value."""

    def excess(p: float) -> float:
        return _MEAN_ABSOLUTE * float(theory(counts, p).mean()) - threshold

    return float(brentq(excess, 1e-4, 0.499))


def _grows(table: pd.DataFrame, threshold: float) -> Finding:
    rows = table[table["threshold"] == threshold]
    found = rows["p_star"].to_numpy()
    # Ten runs leave p* some noise: one step back between neighbours is no contradiction.
    return Finding(
        bool((np.diff(found) > -0.015).all() and found[-1] > found[0]),
        f"c = {threshold:.0%}: p* grows with the number of records, from {found[0]:.2f} with"
        f" {rows['records'].iloc[0]:,} to {found[-1]:.2f} with {rows['records'].iloc[-1]:,}.",
    )


def _agreement(table: pd.DataFrame) -> Finding:
    off = table["p_star"] - table["predicted"]
    return Finding(
        None,
        "The p at which the errors that theorem 5.2 predicts have the mean absolute value c differs"
        f" from p* by {off.abs().max():.3f} at most, where p moves in steps of 0.01.",
    )


def _draw(figure: Figure, table: pd.DataFrame) -> None:
    axes = figure.subplots(1, 2, sharey=True)
    for axis, threshold, part in zip(axes, THRESHOLDS, "ab", strict=True):
        rows = table[table["threshold"] == threshold]
        axis.plot(rows["records"], rows["p_star"], "o", color=style.BLUE, label="p*, ten runs")
        axis.plot(rows["records"], rows["predicted"], "-", color=style.RED, label="predicted")
        axis.set_xscale("log", base=2)
        axis.set_xticks(rows["records"], [f"{n // 1000}k" for n in rows["records"]])
        axis.minorticks_off()
        axis.set_title(f"({part}) c = {threshold:.0%}")
        axis.set_xlabel("records N")
    axes[0].set_ylim(0, 0.5)
    axes[0].set_ylabel("p*, smallest p with an error above c")
    axes[0].legend(loc="lower right")


EXPERIMENT = Experiment(
    name="ma-5.5",
    title="The randomization that keeps an accuracy, against the sample size",
    source="Ma (2006), figure 5.5",
    run=run,
    choices=(six_nodes.CHOICE, _ERROR),
)
