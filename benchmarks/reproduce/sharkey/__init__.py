"""Sharkey et al. (2008): shared decision trees, and what a miner learns from their pseudo-data.

Folds, owners and methods are those of `pramana.simulate`.
"""
