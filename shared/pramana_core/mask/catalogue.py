"""All masking methods by name, with their options and guarantees, and a function to apply them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from types import MappingProxyType
from typing import Any

from pramana_core.mask.core.inputs import Limits
from pramana_core.mask.core.masked import Masked, Method, method_of
from pramana_core.mask.core.noise import Randomness
from pramana_core.mask.methods.additive import NOISE, cadp, sadp
from pramana_core.mask.methods.copula import cgadp, shuffle
from pramana_core.mask.methods.gadp import egadp, gadp, ipso
from pramana_core.mask.methods.nmegadp import nmegadp

_NO_MORE = (
    "Masked values reveal nothing about a record that S and the kept relationships do not"
    " reveal. A single record has no privacy bound, because two releases that differ by one"
    " record can reveal it. The relationship between X and S is released on purpose."
)
_TRUE_VALUES = (
    f"{_NO_MORE} The released numbers are true values of other records, including the largest and"
    " the smallest."
)
_BLURRED = (
    "Each masked value is the true value plus noise, so it reveals more about the record than S"
    " does. The average over several releases has less noise."
)
_MOMENTS = "Linear relationships, exactly: means and covariances equal the original ones."
_SHAPES = "Relationships of X to S of any shape"

_NOISE = {"options": {"noise": NOISE}, "independent": False, "protects": _BLURRED}
_LIMITS = asdict(Limits())
_LINES = {"options": _LIMITS, "protects": _NO_MORE}
_ORTHOGONAL = {"options": _LIMITS, "orthogonal": True}
_EXACT = {"exact_moments": True, "protects": _NO_MORE}
_SHUFFLED = {"released_values": True, "protects": _TRUE_VALUES}

_METHODS: tuple[tuple[str, Any, str, dict[str, Any]], ...] = (
    (
        "sadp",
        sadp,
        "Means. The noise weakens correlations and slopes of every shape.",
        _NOISE,
    ),
    (
        "cadp",
        cadp,
        (
            "Means and correlations among masked columns. Relationships with other columns are"
            " weakened."
        ),
        _NOISE,
    ),
    ("gadp", gadp, "Linear relationships, up to sampling error.", _LINES),
    (
        "ipso",
        ipso,
        _MOMENTS,
        {
            **_LINES,
            **_EXACT,
            "protects": f"{_NO_MORE} Chance correlations with the true values remain, which reveal"
            " something in small tables.",
        },
    ),
    ("egadp", egadp, _MOMENTS, {**_ORTHOGONAL, **_EXACT}),
    (
        "cgadp",
        cgadp,
        "Monotonic relationships between pairs of columns, and nearly the marginals.",
        {**_ORTHOGONAL, "protects": _NO_MORE},
    ),
    (
        "shuffle",
        shuffle,
        "Monotonic relationships between pairs of columns, and exactly the marginals.",
        {**_ORTHOGONAL, **_SHUFFLED},
    ),
    ("nmegadp", nmegadp, f"{_SHAPES}; exactly means and covariances.", {**_ORTHOGONAL, **_EXACT}),
    (
        "nmegadp-shuffle",
        partial(nmegadp, shuffled=True),
        f"{_SHAPES}, and exactly the marginals.",
        {**_ORTHOGONAL, **_SHUFFLED},
    ),
    (
        "nmegadp-copula",
        partial(nmegadp, copula=True),
        f"{_SHAPES}; exactly means and covariances, nearly the residuals' ranks and marginals.",
        {**_ORTHOGONAL, **_EXACT},
    ),
    (
        "nmegadp-copula-shuffle",
        partial(nmegadp, copula=True, shuffled=True),
        f"{_SHAPES}, the residuals' rank correlations, and exactly the marginals.",
        {**_ORTHOGONAL, **_SHUFFLED},
    ),
)

METHODS: Mapping[str, Method] = MappingProxyType(
    {name: Method(name, run, keeps, **facts) for name, run, keeps, facts in _METHODS}
)
"""The masking methods by name, from the simplest to the method that keeps most relationships."""


def mask(name: str, S: Any, X: Any, rng: Randomness, **options: Any) -> Masked:  # noqa: N803
    """Mask X given S by the method `name`; `Method` explains the arguments and errors."""
    return method_of(name, METHODS)(S, X, rng, **options)
