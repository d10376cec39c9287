"""Tables of counts and what may be asked of them: the protocols between estimators and learners.

How counts are estimated from randomized reports lives in `shared.estimation`, what is learned from
them in `shared.learn`.
"""
