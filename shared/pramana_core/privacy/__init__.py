"""What a channel reveals and what it costs in accuracy.

Worst case over all priors: `Amplification`, with epsilon, gamma and the bounds that follow from
them. Under equal priors: `conditional_entropy` (on average), `k_anonymity`, posteriors and the
attacker's accuracy. Each is exact for structured channels of any size. `largest_proportion_se` is
the error that the miner will have. `total_loss` adds up all releases of a study.
"""

from pramana_core.privacy.accuracy import largest_proportion_se
from pramana_core.privacy.gamma import (
    NOTHING,
    PRIOR,
    Amplification,
    composed,
    epsilon,
    gamma,
    gamma_for_breach,
    gamma_within_groups,
    record_loss,
)
from pramana_core.privacy.posterior import (
    attacker_accuracy,
    conditional_entropy,
    k_anonymity,
    posterior_range,
    worst_posterior,
)
from pramana_core.privacy.study_loss import (
    BlockDisclosure,
    CoinDisclosure,
    Extremes,
    StudyDisclosure,
    total_loss,
)

__all__ = [
    "NOTHING",
    "PRIOR",
    "Amplification",
    "BlockDisclosure",
    "CoinDisclosure",
    "Extremes",
    "StudyDisclosure",
    "attacker_accuracy",
    "composed",
    "conditional_entropy",
    "epsilon",
    "gamma",
    "gamma_for_breach",
    "gamma_within_groups",
    "k_anonymity",
    "largest_proportion_se",
    "posterior_range",
    "record_loss",
    "total_loss",
    "worst_posterior",
]
