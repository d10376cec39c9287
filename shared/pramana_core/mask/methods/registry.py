"""The masking methods of the papers, by name.

Those made of synthetic records are in `pramana_core.mask.catalogue`; `pramana_core.mask.METHODS`
has both.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from pramana_core.kernel_regression.options import KernelOptions
from pramana_core.mask.core.inputs import MAX_LEVERAGE
from pramana_core.mask.core.masked import Method
from pramana_core.mask.methods.copula import cgadp, shuffle
from pramana_core.mask.methods.gadp import NOISE, cadp, egadp, gadp, ipso, sadp
from pramana_core.mask.methods.nmegadp import nmegadp

__all__ = ["METHODS", "Method"]


_LONE = {"max_leverage": MAX_LEVERAGE, "max_told": None}

_KERNEL = {"kernel": KernelOptions(), **_LONE}

_UNLINKED = (
    "Beyond what S and the relationships that are kept tell of a record, its masked values tell"
    " nothing. There is no bound on what one record may tell: releases that differ by one record"
    " can give it away."
)

_NO_MORE = f"{_UNLINKED} What S tells of X is released on purpose."

_TRUE_VALUES = (
    f"{_NO_MORE} The released numbers are the true ones at other records, the largest and the"
    " smallest among them."
)

_BLURRED = (
    "Each masked value is the true one with noise on it: it tells of the record what S does not,"
    " and several releases average the noise out."
)

METHODS: Mapping[str, Method] = MappingProxyType(
    {
        method.name: method
        for method in (
            Method(
                "sadp",
                sadp,
                keeps="Means; correlations and slopes of every shape are weakened by the noise.",
                protects=_BLURRED,
                options={"noise": NOISE},
                independent=False,
            ),
            Method(
                "cadp",
                cadp,
                keeps="Means and the correlations among masked columns; relationships with other"
                " columns are weakened by the noise.",
                protects=_BLURRED,
                options={"noise": NOISE, "rescale": False},
                independent=False,
            ),
            Method(
                "gadp",
                gadp,
                keeps="Linear relationships, up to sampling error.",
                protects=_NO_MORE,
                options=_LONE,
            ),
            Method(
                "ipso",
                ipso,
                keeps="Linear relationships, exactly: means and covariances are the original ones.",
                protects=f"{_NO_MORE} Chance correlations with the true values remain, which tell"
                " something in small tables.",
                options=_LONE,
                exact_moments=True,
            ),
            Method(
                "egadp",
                egadp,
                keeps="Linear relationships, exactly: means and covariances are the original ones.",
                protects=_NO_MORE,
                options=_LONE,
                exact_moments=True,
                orthogonal=True,
            ),
            Method(
                "cgadp",
                cgadp,
                keeps="Monotonic relationships between pairs of columns, and nearly the marginals.",
                protects=_NO_MORE,
                options=_LONE,
                orthogonal=True,
            ),
            Method(
                "shuffle",
                shuffle,
                keeps="Monotonic relationships between pairs of columns, and exactly the"
                " marginals.",
                protects=_TRUE_VALUES,
                options=_LONE,
                released_values=True,
                orthogonal=True,
            ),
            Method(
                "shuffle-parametric",
                partial(shuffle, marginals="parametric"),
                keeps="Relationships that are linear once each column is made normal by a fitted"
                " family, and exactly the marginals.",
                protects=_TRUE_VALUES,
                options=_LONE,
                released_values=True,
                orthogonal=True,
            ),
            Method(
                "nmegadp",
                partial(nmegadp, form="perturbation"),
                keeps="Relationships of any shape that S tells of; means and covariances exactly.",
                protects=_NO_MORE,
                options=_KERNEL,
                exact_moments=True,
                orthogonal=True,
            ),
            Method(
                "nmegadp-shuffle",
                partial(nmegadp, form="shuffling"),
                keeps="Relationships of any shape that S tells of, and exactly the marginals.",
                protects=_TRUE_VALUES,
                options=_KERNEL,
                released_values=True,
                orthogonal=True,
            ),
            Method(
                "nmegadp-copula",
                partial(nmegadp, form="copula-perturbation"),
                keeps="Relationships of any shape that S tells of; means and covariances exactly,"
                " the residuals' marginals and rank correlations nearly.",
                protects=_NO_MORE,
                options=_KERNEL,
                exact_moments=True,
                orthogonal=True,
            ),
            Method(
                "nmegadp-copula-shuffle",
                partial(nmegadp, form="copula-shuffling"),
                keeps="Relationships of any shape that S tells of, the residuals' rank"
                " correlations, and exactly the marginals.",
                protects=_TRUE_VALUES,
                options=_KERNEL,
                released_values=True,
                orthogonal=True,
            ),
        )
    }
)
"""Every method of this room by its name, from the simplest to the one that keeps most."""
