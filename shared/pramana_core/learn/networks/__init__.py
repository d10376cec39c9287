"""Bayesian networks: structures, parameters with errors, questions, samples, documents and
pictures.

Classifiers that are networks are in `learn.bayes_classifier`.
"""
