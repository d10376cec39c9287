"""Bayesian network classifiers in other forms: JSON, text and pictures.

As plain networks (BIF, JSON) they are written by `pramana_core.learn.networks.exchange`.
"""
