"""Ma figure 5.9: structure learning by the Bayesian score with a threshold eta."""

from __future__ import annotations

from pramana.reproduce.data import six_nodes
from pramana.reproduce.engine.experiment import Experiment
from pramana.reproduce.ma.chapter_5.structure_curves import CHOICE, compared
from pramana.simulate.parameters import SMOOTHED
from shared.learn.networks.options import Scoring

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


EXPERIMENT = Experiment(
    name="ma-5.9",
    title="Structure learning by the Bayesian score, and by the likelihood of the reports",
    source="Ma (2006), figure 5.9",
    run=lambda setting: compared(setting, CURVES),
    choices=(
        six_nodes.CHOICE,
        CHOICE,
        SMOOTHED,
        _ETA,
    ),
)
