"""Bayesian networks: structures, parameters with errors, inference, samples and documents.

Structure learning is in this package; `pramana_core.estimation.evidence` computes the likelihoods
that its scores use. This package makes documents but writes no files.
"""
