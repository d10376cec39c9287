"""Learners: from marginals to models with their errors; none sees a report, a matrix or a plan.

A room for each kind of model, and `prediction`, which reads any model that predicts.
"""
