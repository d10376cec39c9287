"""What is known of a posterior when each record's matrix is drawn and kept secret."""

from __future__ import annotations

from shared.channels import RESOLUTION, RandomSymmetric
from shared.privacy.structures.prior import require_belief


def posterior_range(channel: RandomSymmetric, prior_of_property: float) -> tuple[float, float]:
    """Return the smallest and the largest posterior of a property under RAN-GD (FRAPP 4.1).

    The matrix of a record is drawn and not published, so that its worst-case posterior is known
    only to lie in this range, as likely above that of the expected matrix as below it. With
    gamma x + r on the diagonal, x - r / (n - 1) elsewhere and P the prior of the property it is

        rho_2(r) = P (gamma x + r) / (P (gamma x + r) + (1 - P) (x - r / (n - 1)))

    at r = -alpha and alpha. (FRAPP prints P gamma x + r in the numerator.)

    Raises:
        OptionError: `prior_of_property` is not strictly between 0 and 1.
    """
    require_belief(prior_of_property, "prior_of_property")
    low, high = (
        _posterior_at(channel, channel.off_units + spread, prior_of_property)
        for spread in (channel.spread_units, -channel.spread_units)
    )
    return low, high


def _posterior_at(channel: RandomSymmetric, off_units: int, prior: float) -> float:
    keep_units = RESOLUTION - (channel.size - 1) * off_units
    told = prior * keep_units
    return told / (told + (1 - prior) * off_units)
