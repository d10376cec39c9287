"""The common parts of masking methods: inputs S and X, noise, normal scores and results.

The checks and cautions before masking are here, too. The methods are in another package.
"""
