"""Estimates from randomized reports, each with its standard errors: of one source, or of several.

`estimated` answers the protocols of `pramana_core.marginals`. What a channel is
lives in `pramana_core.channels`, and what is learned from estimates in `pramana_core.learn`.
"""
