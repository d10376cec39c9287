"""Bayesian networks: structures, parameters with errors, questions, samples, documents and
pictures.
"""
