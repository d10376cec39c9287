"""Bayesian network classifiers: naive Bayes and tree-augmented naive Bayes.

The class is the root of a network over it and the attributes; `BayesClassifier` holds the
parameters with their errors, and predicts whatever of a record is missing.
"""
