"""All methods under one roof, and masking by a method's name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pramana_core.mask.core.inputs import MAX_LEVERAGE
from pramana_core.mask.core.masked import Masked, Method, method_of
from pramana_core.mask.core.noise import Randomness
from pramana_core.mask.methods import registry
from pramana_core.mask.synthetic import synthetic_copula, synthetic_trees

_SYNTHETIC = (
    Method(
        "synthetic-copula",
        synthetic_copula,
        keeps="Monotonic relationships, up to sampling error, and nearly the marginals.",
        protects="Drawn from what S tells of a record by the fitted copula, the values"
        " tell nothing more of its true ones; they carry no bound on what one record may"
        " tell. They lie between true values, and the extremes may occur, unlinked.",
        options={"max_leverage": MAX_LEVERAGE, "max_told": None},
    ),
    Method(
        "synthetic-trees",
        synthetic_trees,
        keeps="Relationships of any shape, as far as the leaves of the trees resolve them.",
        protects="The values are true values of real people alike in S, drawn from leaves"
        " of at least min_leaf records, and about one in a leaf's size of them lands in its"
        " own record; smoothing moves each by a little. They carry no bound on what one"
        " record may tell.",
        options={"min_leaf": 5, "draw": "bayesian-bootstrap", "smoothing": False},
        released_values=True,
        independent=False,
    ),
)

METHODS: Mapping[str, Method] = MappingProxyType(
    {**registry.METHODS, **{method.name: method for method in _SYNTHETIC}}
)
"""Every masking method by its name, the synthetic baselines last."""


def mask(name: str, S: Any, X: Any, rng: Randomness, **options: Any) -> Masked:  # noqa: N803
    """Mask X beside S by the method of a name.

    Args:
        name: one of `METHODS`.
        S, X: as of `inputs`.
        rng: the randomness.
        options: the method's own, see `Method.options`.

    Raises:
        OptionError: there is no such method, or it has no such option.
        TableError, MaskingError: S and X cannot be masked so.
    """
    return method_of(name, METHODS)(S, X, rng, **options)
