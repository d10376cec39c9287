"""The masking methods: functions `(S, X, rng, **options) -> Masked`, and the list of them.

What they share is in `pramana_core.mask.core`. Nothing here measures what a method kept or gave
away.
"""
