"""How many standard errors wide an interval is on either side."""

from __future__ import annotations

from scipy.special import ndtri

from pramana_core.errors import OptionError


def normal_quantile(confidence: float) -> float:
    """Return the normal quantile of a two-sided interval of that confidence.

    Raises:
        OptionError: a confidence that is not between 0 and 1; of 1 an interval has no ends.
    """
    if not 0 < confidence < 1:
        raise OptionError(
            f"The level of an interval must be between 0 and 1, not {confidence}.", where="level"
        )
    return float(ndtri(0.5 + confidence / 2))
