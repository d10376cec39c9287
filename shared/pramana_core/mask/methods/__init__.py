"""The masking methods, which are functions `(inputs, rng, **options) -> Masked`.

`pramana_core.mask.core` has their common parts, and `pramana_core.mask.catalogue` lists them. The
measures of their results are in another package.
"""
