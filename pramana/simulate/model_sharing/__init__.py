"""Shared models simulated on a table that one has: owners, their trees, what the miner learns.

What is grown, pruned, generated and combined is in `shared.model_sharing`; here are folds and cells.
"""
