"""All masking methods by name, each with its options and its promises, and masking by a name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from pramana_core.kernel_regression.options import KernelOptions
from pramana_core.mask.core.inputs import MAX_LEVERAGE
from pramana_core.mask.core.masked import Masked, Method, method_of
from pramana_core.mask.core.noise import Randomness
from pramana_core.mask.methods.additive import NOISE, cadp, sadp
from pramana_core.mask.methods.copula import cgadp, shuffle
from pramana_core.mask.methods.gadp import egadp, gadp, ipso
from pramana_core.mask.methods.nmegadp import nmegadp

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
                options={"noise": NOISE},
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
                "nmegadp",
                nmegadp,
                keeps="Relationships of any shape that S tells of; means and covariances exactly.",
                protects=_NO_MORE,
                options=_KERNEL,
                exact_moments=True,
                orthogonal=True,
            ),
            Method(
                "nmegadp-shuffle",
                partial(nmegadp, shuffled=True),
                keeps="Relationships of any shape that S tells of, and exactly the marginals.",
                protects=_TRUE_VALUES,
                options=_KERNEL,
                released_values=True,
                orthogonal=True,
            ),
            Method(
                "nmegadp-copula",
                partial(nmegadp, copula=True),
                keeps="Relationships of any shape that S tells of; means and covariances exactly,"
                " the residuals' marginals and rank correlations nearly.",
                protects=_NO_MORE,
                options=_KERNEL,
                exact_moments=True,
                orthogonal=True,
            ),
            Method(
                "nmegadp-copula-shuffle",
                partial(nmegadp, copula=True, shuffled=True),
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
"""Every masking method by its name, from the simplest to the one that keeps most."""


def mask(name: str, S: Any, X: Any, rng: Randomness, **options: Any) -> Masked:  # noqa: N803
    """Mask X beside S by the method of a name in `METHODS`; all else as of `Method`."""
    return method_of(name, METHODS)(S, X, rng, **options)
