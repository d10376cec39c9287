"""Learners, which turn marginals into models with parameters and their errors.

A learner never sees a report, a matrix or a plan. The module `prediction` reads all classifiers.
"""
