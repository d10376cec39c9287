"""Shared models simulated on a table that one has: owners, their trees, what the miner learns.

What is grown, pruned, drawn and combined is in `pramana_core.model_sharing`; folds and cells are
here.
"""
