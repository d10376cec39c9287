"""Estimates with standard errors from the randomized reports of one or several sources.

`estimated` implements the protocols of `pramana_core.marginals`. Channels are defined in
`pramana_core.channels`; models are learned from estimates in `pramana_core.learn`.
"""
