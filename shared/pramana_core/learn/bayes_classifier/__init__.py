"""Bayesian network classifiers: naive Bayes, tree-augmented naive Bayes and k-dependence.

The class is the root of a network over it and the attributes; `BayesClassifier` holds the
parameters with their errors, and predicts whatever of a record is missing.
"""
