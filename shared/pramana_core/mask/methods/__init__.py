"""The masking methods: functions `(inputs, rng, **options) -> Masked`.

`pramana_core.mask.core` has their common parts, `pramana_core.mask.catalogue` lists them. This room
does not measure results.
"""
