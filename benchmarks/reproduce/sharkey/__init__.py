"""Sharkey et al. (2008): shared decision trees, and a miner's models of their pseudo-data.

Folds, owners and methods are those of `pramana.simulate`.
"""
