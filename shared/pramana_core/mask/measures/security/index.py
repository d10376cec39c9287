"""Security indices: the share of what is confidential that a snooper does not know."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pramana_core.mask.measures.security.canonical import canonical
from pramana_core.mixed.table import Floats


@dataclass(frozen=True)
class SecurityIndex:
    """The share of variability that is not known, of the combination of columns best known.

    1 - the largest squared canonical correlation of X with (S, Y) (Muralidhar, Parsa and Sarathy
    1999; AlAhmadi, list of symbols): of all linear combinations of the columns of X the one that
    a snooper with S and Y tells best.

    Attributes:
        value: with S and Y; 1 is nothing known, 0 all.
        without: with S alone, which no masking of X changes.
        error: the standard error of `value`.
    """

    value: float
    without: float
    error: float


def security_index(told: Floats, true: Floats, masked: Floats) -> SecurityIndex:
    """Return the security index of X (n x q) by S (n x p) and Y (n x k), all relations linear."""
    nothing = np.empty((len(true), 0))
    both = canonical(true, np.column_stack([told, masked]), nothing)
    alone = canonical(true, told, nothing)
    return SecurityIndex(
        1 - both.largest**2, 1 - alone.largest**2, 2 * both.largest * float(both.error)
    )


def variance_index(true: Floats, masked: Floats) -> Floats:
    """Return Var(X - Y) / Var(X) of each column: q numbers.

    The older index, for additive noise. It knows neither S nor that Y could be wrong by a constant
    factor: Y = 3 X has index 4 and tells everything.
    """
    found: Floats = np.var(true - masked, axis=0) / np.var(true, axis=0)
    return found
