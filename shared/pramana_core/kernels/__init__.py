"""Compiled loops, loaded only for large tasks. Each has a numpy equivalent with identical results,
bit for bit.

Kernels take only arrays and numbers; their callers give these a meaning.
"""
