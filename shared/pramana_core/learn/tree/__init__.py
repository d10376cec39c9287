"""Decision trees from noisy counts, with growth, pruning, prediction, text and pictures.

`pramana_core.estimation` estimates the counts within a node.
"""
