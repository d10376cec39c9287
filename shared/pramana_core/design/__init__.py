"""Designing the best plan from requirements and a goal, by the predicted errors of every family.

`pramana_core.privacy` measures the privacy loss of a plan. `owner_agent.design` has the commands
for custodians.
"""

from pramana_core.design.choose import (
    NOTE,
    Design,
    Problem,
    builds,
    find_design,
    option,
    poolable,
    unserved,
)
from pramana_core.design.families import families
from pramana_core.design.goal import Goal, Learn, goal
from pramana_core.design.mixed_sets import best_weights
from pramana_core.design.pooling import by_pooling
from pramana_core.design.predict import Option, PredictedErrors, by_moments
from pramana_core.design.requirements import (
    Requirements,
    gamma_of_breach,
    gamma_of_epsilon,
    gamma_of_p,
    require_gamma,
)

__all__ = [
    "NOTE",
    "Design",
    "Goal",
    "Learn",
    "Option",
    "PredictedErrors",
    "Problem",
    "Requirements",
    "best_weights",
    "builds",
    "by_moments",
    "by_pooling",
    "families",
    "find_design",
    "gamma_of_breach",
    "gamma_of_epsilon",
    "gamma_of_p",
    "goal",
    "option",
    "poolable",
    "require_gamma",
    "unserved",
]
