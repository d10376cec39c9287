"""Reports with their plan, their disclosure, and counts estimated from them.

Reports are made in `pramana.owner`; models are learned from them in `pramana.estimators`.
"""
