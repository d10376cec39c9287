"""An analyst's connection to a miner: studies, jobs, and models as fitted estimators.

Owners speak to a miner through `owner_agent`.
"""
