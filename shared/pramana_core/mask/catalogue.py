"""All methods under one roof, and masking by a method's name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pramana_core.mask.core.masked import Masked, Method, method_of
from pramana_core.mask.core.noise import Randomness
from pramana_core.mask.methods import registry
from pramana_core.mask.synthetic import registry as synthetic

METHODS: Mapping[str, Method] = MappingProxyType({**registry.METHODS, **synthetic.METHODS})
"""Every masking method by its name, the synthetic baselines last."""


def mask(name: str, S: Any, X: Any, rng: Randomness, **options: Any) -> Masked:  # noqa: N803
    """Mask X beside S by the method of a name.

    Args:
        name: one of `METHODS`.
        S: the non-confidential columns, n x p, a frame or None.
        X: the confidential columns, n x q or a frame.
        rng: the randomness.
        options: the method's own, see `Method.options`.

    Raises:
        OptionError: there is no such method, or it has no such option.
        TableError, MaskingError: S and X cannot be masked so.
    """
    return method_of(name, METHODS)(S, X, rng, **options)
