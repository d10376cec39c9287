"""Masking a table: read, masked by keyed noise, reported on before anything leaves, published.

The methods and their measures are in `pramana_core.mask`; here is what an owner does with them.
"""
