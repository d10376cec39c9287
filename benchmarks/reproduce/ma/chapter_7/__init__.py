"""Association rules and decision trees: Ma (2006), chapter 7.

`benchmarks.reproduce.catalogue` lists the experiments; what they share is in `engine` and `data`.
"""
