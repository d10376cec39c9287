"""Bayesian network classifiers: naive Bayes and tree-augmented naive Bayes.

The class is the root of a network over the class and the attributes. A `BayesClassifier` has the
parameters with their errors, and predicts records with missing attributes.
"""
