"""Learners: they turn marginals into models, whose parameters have errors.

A learner never sees a report, a matrix or a plan. The module `prediction` reads all classifiers.
"""
