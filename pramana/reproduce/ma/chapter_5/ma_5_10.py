"""Ma figure 5.10: structure learning by BIC with a heavier penalty C*."""

from __future__ import annotations

from pramana.reproduce.data import six_nodes
from pramana.reproduce.engine.experiment import Experiment
from pramana.reproduce.ma.chapter_5.structure_curves import CHOICE, compared
from pramana.simulate.parameters import SMOOTHED
from shared.learn.networks.options import Scoring

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
