"""Ma figure 5.10: structure learning by BIC with a heavier penalty C*."""

from __future__ import annotations

from experiments.reproduce import six_nodes
from experiments.reproduce.experiment import Experiment
from experiments.reproduce.structure_curves import CHOICE, compared
from experiments.simulate.parameters import SMOOTHED
from shared.learn.scores import Scoring

CURVES = {
    "C* = 1": lambda _: Scoring("bic"),
    "C* = 4": lambda _: Scoring("bic", c_star=4.0),
    "C* = 8": lambda _: Scoring("bic", c_star=8.0),
}


EXPERIMENT = Experiment(
    name="ma-5.10",
    title="Structure learning by BIC, and by the likelihood of the reports",
    source="Ma (2006), figure 5.10",
    run=lambda setting: compared(setting, CURVES),
    choices=(
        six_nodes.CHOICE,
        CHOICE,
        SMOOTHED,
        "The penalty is C* (log N) / 2 per parameter; the paper prints N / 2.",
    ),
)
