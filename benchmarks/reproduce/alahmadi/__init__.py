"""AlAhmadi (2006): what masking does to relationships that are not monotonic, all methods together.

The dissertation's tables are not published; tables are drawn in their likeness.
"""
