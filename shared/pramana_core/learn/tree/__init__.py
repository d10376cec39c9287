"""Decision trees grown from subpopulations of noisy counts, pruned, predicting, written and drawn.

The counts within a node come from `pramana_core.estimation`.
"""
