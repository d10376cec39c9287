"""Reports with the plan they were made under, what they tell, and the counts estimated from them.

How reports are made is in `pramana.owner`; what is learned from them in `pramana.estimators`.
"""
