"""Bayesian networks: structures, parameters with errors, questions, samples, documents and
pictures.

How a structure is found, and how networks are written, drawn and read, lives here, too; the
likelihoods that scores rest on are computed in `pramana_core.estimation.evidence`. Files are
written by whoever asks.
"""
