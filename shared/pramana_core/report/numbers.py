"""Formats of numbers in reports; a missing value is a dash."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pramana_core.rounding import rounded_up

if TYPE_CHECKING:
    from pramana_core.privacy import Amplification

VAST = 10**18
"""The smallest whole number that is written as a power of ten."""

ROUNDING = 1e-9
"""Smaller numbers are rounding errors of floating-point sums."""


def finite(value: float) -> float | None:
    """Return a number for JSON, with None for infinity."""
    return value if math.isfinite(value) else None


def percent(value: float | None) -> str:
    """Return a share in percent with three digits."""
    if value is None:
        return "–"
    found = 100 * value
    return f"{found:.3g} %" if 0 < found < 99.5 else f"{found:.4g} %"


def bound(value: float | None) -> str:
    """Return a gamma, an epsilon or a condition number, rounded up; None means infinity."""
    return "∞" if value is None or value == math.inf else rounded_up(value)


def number(value: float | None) -> str:
    """Return a number as text with four digits. A rounding error is written as 0."""
    if value is None or value != value:
        return "–"
    return "0" if abs(value) < ROUNDING else f"{value:.4g}"


def count(value: float | None) -> str:
    """Return a whole number as text, or a very large one as a power of ten."""
    if value is not None and value >= VAST:
        return f"about 10^{math.log10(value):.0f}"
    return "–" if value is None else f"{value:,.0f}"


def measured(value: float, error: float | None) -> str:
    """Return a number and its standard error, if any, rounded to the error's second digit."""
    if error is None or value != value or error < ROUNDING:
        return number(value)
    digits = min(4, max(0, 1 - math.floor(math.log10(error))))
    return f"{round(value, digits) + 0.0:.{digits}f} ± {error:.{digits}f}"


def belief(amplification: Amplification, prior: float) -> str:
    """Return the largest posterior in percent, rounded up. Only certainty is written as 100 %."""
    posterior = amplification.grown(prior)
    certain = math.isinf(amplification.epsilon)
    return f"{rounded_up(100 * posterior)} %" if certain or posterior <= 0.9999 else ">99.99 %"


def plural(count: int, one: str) -> str:
    """Return a count with its noun: "1 record", "2 records"."""
    return f"{count:,} {one}{'s' * (count != 1)}"
