"""Tables of counts and their queries: the protocols between estimators and learners.

`pramana_core.estimation` estimates counts from reports; `pramana_core.learn` learns from counts.
"""
