"""Privacy and loss of information: Ma (2006), chapter 3.

`benchmarks.reproduce.catalogue` lists the experiments; what they share is in `engine` and `data`.
"""
