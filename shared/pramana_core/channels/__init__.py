"""Transition matrices P[true, reported] that keep their structure.

A `Transition` is a row-stochastic K x L channel (Ma 2.1). Its probabilities are made of integers,
so that the published matrix and the mechanism that draws from it are the same object. Each family
applies and inverts itself along one axis of a count tensor without ever building the Kronecker
product; with `P` the matrix and `x` the vectors along the axis:

    apply           P' x        expected reported counts of true counts (Ma theorem 1a)
    apply_adjoint   P x         expectation over the report of a function of the report
    solve           D x         moment estimate of true counts, D P' = I (Ma 2.4.1)
    solve_adjoint   D' x        the function of the report that estimates a function of the truth
    solve_square    (D o D) x   elementwise squares: the second moments of the estimate

A family is one class here: its fields are what is published of it, each with its range, of which
its canonical document and its message on the wire are made; it has its words for people, and says
of itself what others need to know. What a channel costs in privacy, how reports are drawn by it and
how a site file asks for it are not here but dispatched on these classes, each in its own room.
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
"""Every family that can be published, in the order of the API's document."""

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
