"""Rounding of printed bounds: losses up, and remainders of budgets down, to four digits.

A bound that is rounded to nearest may be smaller than the loss that it bounds.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import Final

_GRID_ERROR: Final = 1e-7
"""The relative excess of a bound that printed numbers drop."""
_SLACK: Final = 1e-9
"""The relative excess that budgets allow."""


def rounded_up(bound: float) -> str:
    """Return a bound on a loss as text, rounded up to four significant digits.

    An excess of less than 1e-7 of the bound is dropped, because weights that are multiples of 2^-32
    can turn a gamma of 36 into 36.0000002.
    """
    return _four_digits(bound * (1 - _GRID_ERROR), ROUND_CEILING)


def rounded_down(remainder: float) -> str:
    """Return the remainder of a budget as text, rounded down to four significant digits.

    A deficit of less than 1e-9 of the remainder is ignored, because budgets allow the same excess.
    """
    return _four_digits(remainder * (1 + _SLACK), ROUND_FLOOR)


def _four_digits(value: float, direction: str) -> str:
    return f"{float(Context(4, direction).create_decimal(value)):.4g}"
