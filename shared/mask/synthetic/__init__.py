"""Synthetic records: the baselines that users would pick today, in the masking methods' signature.

Here are the Gaussian copula and sequential regression trees. What AlAhmadi compares and builds is
in `shared.mask.methods`; all methods are set side by side in `shared.mask.comparison`.
"""
