"""The figures and tables of Ma (2006), modules named by its sections, or by what they draw.

What they share with FRAPP's is in `benchmarks.reproduce`.
"""
