"""Numbers into few groups, for models of categories and for models of numbers (Ma 2.3).

`mgas` makes groups of a minimum number of records and a minimum width; the usual binnings stand
beside it. A `Discretization` says where the groups are cut and which number
stands for each. What its figures reveal is said by the function that makes it.
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
