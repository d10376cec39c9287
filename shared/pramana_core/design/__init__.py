"""The best plan for a stated need: requirements, a goal, every family's predicted error.

What a plan reveals is measured in `pramana_core.privacy`; the custodian's commands are in
`owner_agent.design`.
"""

from pramana_core.design.bound import bound
from pramana_core.design.choose import (
    Comparison,
    Problem,
    bounded,
    builds,
    compare,
    little_told,
    not_useful,
    option,
    poolable,
    records_enough,
    records_needed,
    strongest_privacy,
    unserved,
    useful,
)
from pramana_core.design.families import (
    Requirements,
    families,
    gamma_of_breach,
    gamma_of_epsilon,
    gamma_of_minimum_k,
    gamma_of_p,
)
from pramana_core.design.goal import Goal, Learn, goal, reference
from pramana_core.design.mixed_sets import best_weights, by_pooling
from pramana_core.design.predict import Option, PredictedErrors, by_moments

__all__ = [
    "Comparison",
    "Goal",
    "Learn",
    "Option",
    "PredictedErrors",
    "Problem",
    "Requirements",
    "best_weights",
    "bound",
    "bounded",
    "builds",
    "by_moments",
    "by_pooling",
    "compare",
    "families",
    "gamma_of_breach",
    "gamma_of_epsilon",
    "gamma_of_minimum_k",
    "gamma_of_p",
    "goal",
    "little_told",
    "not_useful",
    "option",
    "poolable",
    "records_enough",
    "records_needed",
    "reference",
    "strongest_privacy",
    "unserved",
    "useful",
]
