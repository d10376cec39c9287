"""Estimates from randomized reports, each with its standard errors: of one source, or of several.

`estimated` answers the protocols of `shared.marginals` with `tables`; the rooms below hold how.
What a channel is lives in `shared.channels`, and what is learned from estimates in `shared.learn`.
"""
