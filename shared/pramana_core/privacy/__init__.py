"""What a channel reveals and what it costs in accuracy.

Worst case over all priors: `Amplification`, with epsilon, gamma and the bounds that follow from
them. Under a given prior: `conditional_entropy` (on average), `k_anonymity`, posteriors, breaches
and the attacker's accuracy. Each is exact for structured channels of any size.
`largest_proportion_se` is the other side: the error the miner will have. `told_by` adds up what
all releases of a study told.
"""

from pramana_core.privacy.amplification import (
    NOTHING,
    PRIOR,
    Amplification,
    BlockDisclosure,
    CoinDisclosure,
    ColumnDisclosure,
    Extremes,
    StudyDisclosure,
    composed,
    conditional_entropy,
    epsilon,
    gamma,
    gamma_for_breach,
    gamma_within_groups,
    told_by,
    told_by_record,
)
from pramana_core.privacy.posterior import (
    AttackerAccuracy,
    KAnonymity,
    attacker_accuracy,
    downward_breach,
    k_anonymity,
    largest_proportion_se,
    posterior_range,
    upward_breach,
    worst_posterior,
)

__all__ = [
    "NOTHING",
    "PRIOR",
    "Amplification",
    "AttackerAccuracy",
    "BlockDisclosure",
    "CoinDisclosure",
    "ColumnDisclosure",
    "Extremes",
    "KAnonymity",
    "StudyDisclosure",
    "attacker_accuracy",
    "composed",
    "conditional_entropy",
    "downward_breach",
    "epsilon",
    "gamma",
    "gamma_for_breach",
    "gamma_within_groups",
    "k_anonymity",
    "largest_proportion_se",
    "posterior_range",
    "told_by",
    "told_by_record",
    "upward_breach",
    "worst_posterior",
]
