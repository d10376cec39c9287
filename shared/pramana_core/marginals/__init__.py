"""Tables of counts and what may be asked of them: the protocols between estimators and learners.

How counts are estimated from randomized reports lives in `pramana_core.estimation`, what is learned
from them in `pramana_core.learn`.
"""
