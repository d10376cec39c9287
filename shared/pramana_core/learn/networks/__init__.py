"""Bayesian networks: structures, parameters with errors, questions and samples.

How a structure is found lives in `search`, how a network is written and drawn in `exchange`.
"""
