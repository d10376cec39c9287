"""What a channel reveals and what it costs in accuracy.

Worst case over all priors: `gamma`, `epsilon` and the bounds that follow from them. Under a given
prior: `conditional_entropy` (on average), `k_anonymity`, posteriors, breaches and the attacker's
accuracy. Each is exact for structured channels of any size. `largest_proportion_se` is the other
side: the error the miner will have.
"""

from shared.privacy.accuracy import largest_proportion_se
from shared.privacy.amplification import (
    downward_bound,
    epsilon,
    gamma,
    gamma_for_breach,
    gamma_within_groups,
    posterior_bound,
    prior_bound,
    simultaneous_epsilon,
    simultaneous_gamma,
)
from shared.privacy.anonymity import KAnonymity, k_anonymity
from shared.privacy.information import conditional_entropy
from shared.privacy.posterior import (
    AttackerAccuracy,
    attacker_accuracy,
    downward_breach,
    upward_breach,
    worst_posterior,
)
from shared.privacy.random_matrix import posterior_range

__all__ = [
    "AttackerAccuracy",
    "KAnonymity",
    "attacker_accuracy",
    "conditional_entropy",
    "downward_bound",
    "downward_breach",
    "epsilon",
    "gamma",
    "gamma_for_breach",
    "gamma_within_groups",
    "k_anonymity",
    "largest_proportion_se",
    "posterior_bound",
    "posterior_range",
    "prior_bound",
    "simultaneous_epsilon",
    "simultaneous_gamma",
    "upward_breach",
    "worst_posterior",
]
