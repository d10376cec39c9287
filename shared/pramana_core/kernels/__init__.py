"""Compiled loops, loaded only for enough work; each has a numpy path with bit-identical results.

Kernels know only arrays and numbers; their meaning belongs to the rooms above.
"""
