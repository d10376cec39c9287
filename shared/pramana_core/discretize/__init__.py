"""Grouping numbers into a few intervals, for models of categories and of numbers (Ma 2.3).

`mgas` forms groups with a minimum number of records and a minimum width. The other functions are
the usual binnings. A `Discretization` has the cuts between groups and a representative number for
each group. The docstring of each function explains what its result reveals about the values.
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
