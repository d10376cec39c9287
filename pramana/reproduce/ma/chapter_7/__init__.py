"""Association rules and decision trees: Ma (2006), chapter 7.

Experiments are listed in `pramana.reproduce.catalogue`; what they share is in `engine` and `data`.
"""
