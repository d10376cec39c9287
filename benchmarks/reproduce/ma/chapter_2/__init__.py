"""Estimation: Ma (2006), chapter 2.

`benchmarks.reproduce.catalogue` lists the experiments; what they share is in `engine` and `data`.
"""
