"""Ma figure 5.10: structure learning by BIC with a heavier penalty C*."""

from __future__ import annotations

from experiments.reproduce import six_nodes
from experiments.reproduce.experiment import Experiment, Result, Setting
from experiments.reproduce.structure_curves import (
    CHOICE,
    always_extra,
    draw,
    grows,
    learned,
    ours,
    protects,
    summarized,
)
from experiments.simulate.parameters import SMOOTHED
from shared.learn.scores import Scoring

CURVES = {
    "C* = 1": lambda _: Scoring("bic"),
    "C* = 4": lambda _: Scoring("bic", c_star=4.0),
    "C* = 8": lambda _: Scoring("bic", c_star=8.0),
}


def run(setting: Setting) -> Result:
    """Learn by K2 with each penalty and with the likelihood of the reports."""
    rows = learned(setting, CURVES)
    table = summarized(rows)
    names = list(CURVES)
    findings = (
        grows(table, names[0]),
        protects(table, names[0], names[1]),
        protects(table, names[1], names[2]),
        always_extra(rows, names),
        *ours(table, names),
    )
    return Result({"means": table, "runs": rows}, findings, lambda figure: draw(figure, table))


EXPERIMENT = Experiment(
    name="ma-5.10",
    title="Structure learning by BIC, and by the likelihood of the reports",
    source="Ma (2006), figure 5.10",
    run=run,
    choices=(
        six_nodes.CHOICE,
        CHOICE,
        SMOOTHED,
        "The penalty is C* (log N) / 2 per parameter; the paper prints N / 2.",
    ),
)
