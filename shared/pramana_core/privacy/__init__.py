"""How much a channel discloses about a record, and how much accuracy it costs.

`Amplification` is the worst case over all priors: epsilon, gamma and the bounds that follow from
them. `conditional_entropy` (an average), `k_anonymity`, the posteriors and the attacker's accuracy
assume equal priors. All measures are exact for structured channels of any size.
`largest_proportion_se` is the error of the miner's estimates. `total_loss` adds the losses of all
releases of a study. `ShuffledReport` has the central bounds, which hold against an attacker who
does not know which report belongs to which record.
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
from pramana_core.privacy.shuffling import (
    DELTA,
    GAMMA_LIMIT,
    CentralLoss,
    ShuffledReport,
    central_loss,
    known_set_loss,
    largest_gamma,
    lower_central_delta,
    records_in_set,
    smallest_group,
)
from pramana_core.privacy.study_loss import (
    BlockDisclosure,
    CoinDisclosure,
    Extremes,
    StudyDisclosure,
    total_loss,
)

__all__ = [
    "DELTA",
    "GAMMA_LIMIT",
    "NOTHING",
    "PRIOR",
    "Amplification",
    "BlockDisclosure",
    "CentralLoss",
    "CoinDisclosure",
    "Extremes",
    "ShuffledReport",
    "StudyDisclosure",
    "attacker_accuracy",
    "central_loss",
    "composed",
    "conditional_entropy",
    "epsilon",
    "gamma",
    "gamma_for_breach",
    "gamma_within_groups",
    "k_anonymity",
    "known_set_loss",
    "largest_gamma",
    "largest_proportion_se",
    "lower_central_delta",
    "posterior_range",
    "record_loss",
    "records_in_set",
    "smallest_group",
    "total_loss",
    "worst_posterior",
]
