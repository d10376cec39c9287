"""Learners: from marginals to models with errors.

A learner never sees a report, a matrix or a plan. `prediction` reads any model that predicts.
"""
