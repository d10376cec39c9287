"""The figures and tables of Ma (2006), a room for each chapter.

What they share with FRAPP's is in `benchmarks.reproduce`.
"""
