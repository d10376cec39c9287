"""How many standard errors wide an interval is on either side."""

from __future__ import annotations

from scipy.special import ndtri


def normal_quantile(confidence: float) -> float:
    """Return the normal quantile of a two-sided interval of that confidence."""
    return float(ndtri(0.5 + confidence / 2))
