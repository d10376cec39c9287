"""Learners: they turn marginals into models, whose parameters have errors.

A learner never sees a report, a matrix or a plan. `prediction` reads all models of a class.
"""
