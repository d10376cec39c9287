"""An analyst's way to a miner: studies, jobs and the models they make, as the same estimators.

Owners speak to a miner through `owner_agent`.
"""
