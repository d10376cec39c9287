"""The common parts of masking methods: S and X, noise, scores, results.

The checks and cautions before masking are here; the methods are not.
"""
