"""Bayesian networks: Ma (2006), chapter 5."""
