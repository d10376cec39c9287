"""Privacy on average: what is still unknown of the truth once the report is known (Ma 3.1.1)."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from pramana_core.channels import Transition
from pramana_core.privacy.structures.dispatch import structure_of
from pramana_core.privacy.structures.prior import checked_prior, entropy
from pramana_core.privacy.structures.structure import ChannelStructure


def conditional_entropy(channel: Transition, prior: npt.ArrayLike | None = None) -> float:
    """Return H(X | X~) in bits: the entropy of the truth left after the report (Ma 3.1.1).

    It is H(X) + H(X~ | X) - H(X~). 2 to its power is the average conditional privacy of Agrawal
    and Aggarwal. An average: single reports may still tell everything.

    Args:
        channel: K true categories.
        prior: K probabilities of the true categories; None: uniform over the possible ones.

    Raises:
        OptionError: the prior does not fit, or is not a probability distribution.
        LimitExceeded: a channel without closed form over too many categories.
    """
    structure = structure_of(channel)
    given = checked_prior(prior, structure.size)
    learned = structure.information(given)
    before = _uniform_entropy(structure) if given is None else entropy(given)
    return max(0.0, before - learned)


def _uniform_entropy(structure: ChannelStructure) -> float:
    return -math.log2(float(np.max(structure.uniform())))
