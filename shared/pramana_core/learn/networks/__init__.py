"""Bayesian networks: structures, parameters with errors, inference, samples and documents.

Structure learning is here; `pramana_core.estimation.evidence` computes the likelihoods of its
scores. Callers write the files.
"""
