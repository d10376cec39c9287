"""Numbers into few groups, for models of categories and for models of numbers (Ma 2.3)."""

from pramana_core.discretize.binnings import (
    Discretization,
    by_halves,
    equal_frequency,
    equal_width,
    given_cuts,
    interval_labels,
)
from pramana_core.discretize.mgas import mgas

__all__ = [
    "Discretization",
    "by_halves",
    "equal_frequency",
    "equal_width",
    "given_cuts",
    "interval_labels",
    "mgas",
]
