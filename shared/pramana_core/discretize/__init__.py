"""Numbers into few groups, for models of categories and for models of numbers (Ma 2.3).

`mgas` makes groups of a minimum number of records and a minimum width; the others are the usual
binnings. A `Discretization` has the cuts between groups and the number that stands for each. The
function that makes it documents what its figures reveal.
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
