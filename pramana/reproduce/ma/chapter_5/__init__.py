"""Bayesian networks: Ma (2006), chapter 5.

Experiments are listed in `pramana.reproduce.catalogue`; what they share is in `engine` and `data`.
"""
