"""Synthetic records: the baselines that users would pick today, in the masking methods' signature.

Here are the Gaussian copula and sequential regression trees. What AlAhmadi compares and builds is
in `pramana_core.mask.methods`; all methods are set side by side in `pramana_core.mask.comparison`.
"""
