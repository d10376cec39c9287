"""Probabilistic K-anonymity: how many truths a report leaves plausible (Ma 3.1.3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy.typing as npt

from pramana_core.channels import Transition
from pramana_core.errors import OptionError
from pramana_core.privacy.structures.dispatch import structure_of
from pramana_core.privacy.structures.prior import checked_prior


@dataclass(frozen=True)
class KAnonymity:
    """Ma's pair (K_p, Dist_K), and the divergence of the report that is protected worst.

    `categories` is K_p. `least_divergence` is Dist_K: the divergence, in bits, of the posterior
    from the uniform distribution over the categories a report leaves plausible, **smallest** over
    the reports; it is that of the best-protected report. `worst_divergence` is the largest, the
    one to judge a channel by: log2 K_p bits would be certainty.
    """

    categories: int
    least_divergence: float
    worst_divergence: float


def k_anonymity(
    channel: Transition, prior: npt.ArrayLike | None = None, threshold: float = 0.0
) -> KAnonymity:
    """Return the probabilistic K-anonymity of a channel under a prior (Ma 3.1.3).

    A category is plausible after a report if its posterior is above `threshold`. Ma's definition
    has 0, by which hardly possible categories count in full; Ma 8 (b) asks for a larger one. The
    posterior is divided by what is left of it before it is compared with the uniform.

    Args:
        channel: K true categories.
        prior: K probabilities of the true categories; None: uniform over the possible ones.
        threshold: a posterior, at least 0 and below 1.

    Raises:
        OptionError: the prior is invalid, `threshold` is outside its range, or it is so large that
            some report leaves nothing plausible.
        LimitExceeded: a channel without closed form over too many categories.
    """
    if not 0 <= threshold < 1:
        raise OptionError(
            f"threshold must be at least 0 and below 1, not {threshold}.",
            where="threshold",
            remedy="Give a small probability, such as 0.01; 0 counts every possible category.",
        )
    structure = structure_of(channel)
    found = structure.plausible(checked_prior(prior, structure.size), threshold)
    if found.fewest == 0:
        raise OptionError(
            f"After some report no category has a posterior above {threshold}.",
            where="threshold",
            remedy="Lower the threshold: it must be below the largest posterior of each report.",
        )
    return KAnonymity(found.fewest, found.least, found.most)
