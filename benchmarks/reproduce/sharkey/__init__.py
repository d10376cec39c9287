"""Sharkey et al. (2008): shared decision trees, and a miner's models of their pseudo-data.

The simulations are those of `pramana.simulate`.
"""
