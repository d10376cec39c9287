"""The masking methods: functions `(inputs, rng, **options) -> Masked`.

What they share is in `pramana_core.mask.core`, the list of them in `pramana_core.mask.catalogue`.
Nothing here measures what a method kept or gave away.
"""
