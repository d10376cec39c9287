"""The common parts of masking methods: inputs S and X, noise, normal scores and results.

It also contains the checks and cautions before masking. The methods are in another package.
"""
