"""Ma figure 6.3: the measurements of iris reconstructed from randomized groups."""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks.reproduce.engine import (
    Experiment,
    Figure,
    Result,
    Setting,
    accurate,
    as_theory_says,
)
from benchmarks.reproduce.ma import iris
from benchmarks.reproduce.ma.linear_runs import plan
from pramana.setups.owner import SeededOwner
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.pictures import plots as style

P = 0.3
_BINS = 40


def run(setting: Setting) -> Result:
    """Randomize the groups of every measurement once and estimate how many records are in each."""
    made = iris.sample(setting)
    records = made.records
    channels = plan(records, P)
    owner = SeededOwner.of("ma-6.3", setting.seed, records.size)
    marginals = EstimatedMarginals(owner.report(channels, records.codes), channels)
    tables, findings = [], []
    for name, groups in setting.steps(made.groups.items()):
        table = marginals.marginal([name])
        truth = np.array(groups.counts, dtype=np.float64)
        edges = np.array([made.values[name].min(), *groups.cuts, made.values[name].max()])
        least, most = table.interval(population=False)
        tables.append(
            pd.DataFrame(
                {
                    "variable": name,
                    "low": edges[:-1],
                    "high": edges[1:],
                    "mean": groups.representatives,
                    "true": truth,
                    "estimated": table.counts,
                    "se": table.standard_error(population=False),
                    "least": least,
                    "most": most,
                }
            )
        )
        findings.append(accurate(f"{name} moment", table.counts, truth))
        covariance = table.covariance(population=False)
        findings.append(as_theory_says(table.counts - truth, covariance))
    return Result(
        {"groups": pd.concat(tables, ignore_index=True)},
        tuple(findings),
        lambda figure: _draw(figure, made, pd.concat(tables, ignore_index=True)),
        height=8.0,
    )


def _draw(figure: Figure, made: iris.Iris, table: pd.DataFrame) -> None:
    axes = figure.subplots(len(made.groups), 2, sharex="row")
    for (left, right), (name, values) in zip(axes, made.values.items(), strict=True):
        rows = table[table["variable"] == name]
        width = rows["high"] - rows["low"]
        middle = (rows["high"] + rows["low"]) / 2
        left.bar(middle, rows["estimated"] / width, width, color=style.SKY, edgecolor="white")
        left.errorbar(
            middle,
            rows["estimated"] / width,
            # An estimate below zero lies below its interval, too.
            np.maximum([rows["estimated"] - rows["least"], rows["most"] - rows["estimated"]], 0.0)
            / width.to_numpy(),
            fmt="none",
            ecolor=style.BLUE,
            capsize=3,
        )
        right.hist(values, bins=_BINS, color=style.GREY, weights=_density(values))
        left.set(ylabel="records per cm", xlabel=name.replace("-", " ") + ", cm")
        right.set_xlabel(name.replace("-", " ") + ", cm")
    axes[0, 0].set_title(f"reconstructed at p = {P:g}, 95 % intervals")
    axes[0, 1].set_title("histogram of the original values")


def _density(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[float]:
    """Return weights that make a histogram's bars records per centimetre."""
    return [_BINS / float(np.ptp(values))] * len(values)


EXPERIMENT = Experiment(
    name="ma-6.3",
    title="Measurements of iris reconstructed from randomized groups",
    source="Ma (2006), figure 6.3",
    run=run,
    needs_data=(iris.FILE,),
    choices=(iris.CHOICE, f"The paper does not give p for this figure; here it is {P:g}."),
)
