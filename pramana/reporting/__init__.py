"""Reports with their plan, what they disclose, and counts estimated from them.

Reports are made in `pramana.owner`; models are learned from them in `pramana.estimators`.
"""
