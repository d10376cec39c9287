"""Ma figure 5.9: structure learning by the Bayesian score with a threshold eta."""

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

_ETA = (
    "eta: a parent is added if the new logarithmic score exceeds eta times the old one; both are"
    " negative. Each cell has a Dirichlet parameter of 1."
)


def variable_eta(p: float) -> float:
    """Return the eta of 5.6.4 that depends on p; it is given up to p = 0.3."""
    if p <= 0.15:
        return 0.99
    return 0.98 if p <= 0.25 else 0.97


CURVES = {
    "η = 1": lambda _: Scoring("bayesian"),
    "η = 0.99": lambda _: Scoring("bayesian", eta=0.99),
    "variable η": lambda p: Scoring("bayesian", eta=variable_eta(p)),
}


def run(setting: Setting) -> Result:
    """Learn by K2 with each threshold and with the likelihood of the reports."""
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
    name="ma-5.9",
    title="Structure learning by the Bayesian score, and by the likelihood of the reports",
    source="Ma (2006), figure 5.9",
    run=run,
    choices=(
        six_nodes.CHOICE,
        CHOICE,
        SMOOTHED,
        _ETA,
    ),
)
