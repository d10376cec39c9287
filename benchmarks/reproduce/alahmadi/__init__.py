"""AlAhmadi (2006): what masking does to relationships that are not monotonic, all methods together.

The tables are made or public, for the dissertation's own are not published. The methods and their
measures are in `pramana_core.mask`.
"""
