"""Transition matrices P[true, reported] that keep their structure.

A `Transition` is a row-stochastic K x L channel (Ma 2.1). Its probabilities are integers divided by
a fixed denominator, so the mechanism draws from exactly the matrix that is published. Each family
applies and inverts itself along one axis of a count tensor without ever building the Kronecker
product. With `P` the matrix and `x` the vectors along the axis:

    apply           P' x        expected reported counts of true counts (Ma theorem 1a)
    apply_adjoint   P x         expectation over the report of a function of the report
    solve           D x         moment estimate of true counts, D P' = I (Ma 2.4.1)
    solve_adjoint   D' x        the function of the report that estimates a function of the truth
    solve_square    (D o D) x   elementwise squares: the second moments of the estimate

Each family is one class here. Its fields are its published parameters with their ranges; the
canonical document and the message on the wire follow from them. The class also describes itself in
words. The privacy cost of a channel, the drawing of reports and the site-file keys are computed in
other packages, by functions that dispatch on these classes.
"""

from pramana_core.channels.base import (
    CONDITION_LIMIT,
    LISTED_ENTRIES,
    RESOLUTION,
    Choice,
    Tensor,
    Transition,
    Units,
    UnitTransition,
    along_axis,
    keys_of,
    left_inverse,
)
from pramana_core.channels.dense import PARTS, Dense, Grouped
from pramana_core.channels.items import ITEMS, CutAndPaste, OneHot
from pramana_core.channels.product import COIN, Coordinated, Product, pieces
from pramana_core.channels.sampled import CHOICES, Sampled
from pramana_core.channels.subsets import SUBSETS, SubsetSelection, best_subset, set_channel
from pramana_core.channels.symmetric import (
    MIXTURE_CELLS,
    SHARE,
    Identity,
    Mixture,
    RandomSymmetric,
    Symmetric,
    Withheld,
    most_accurate,
)

FAMILIES: tuple[type[Transition], ...] = (
    Identity,
    Symmetric,
    Dense,
    Grouped,
    RandomSymmetric,
    Mixture,
    Withheld,
    OneHot,
    CutAndPaste,
    SubsetSelection,
    Sampled,
    Coordinated,
    Product,
)
"""Every family that can be published, in the order of the API document."""

__all__ = [
    "CHOICES",
    "COIN",
    "CONDITION_LIMIT",
    "FAMILIES",
    "ITEMS",
    "LISTED_ENTRIES",
    "MIXTURE_CELLS",
    "PARTS",
    "RESOLUTION",
    "SHARE",
    "SUBSETS",
    "Choice",
    "Coordinated",
    "CutAndPaste",
    "Dense",
    "Grouped",
    "Identity",
    "Mixture",
    "OneHot",
    "Product",
    "RandomSymmetric",
    "Sampled",
    "SubsetSelection",
    "Symmetric",
    "Tensor",
    "Transition",
    "UnitTransition",
    "Units",
    "Withheld",
    "along_axis",
    "best_subset",
    "keys_of",
    "left_inverse",
    "most_accurate",
    "pieces",
    "set_channel",
]
