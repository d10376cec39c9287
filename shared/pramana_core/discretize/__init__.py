"""Numbers into few groups, for models of categories and for models of numbers (Ma 2.3).

Cuts of a table's columns by the site's keys are made in `owner_agent.table`.
"""

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
