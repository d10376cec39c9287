"""Least-squares regression of a numeric column on other columns, from masked records.

The learner does not know how the records were masked, and models do not contain records.
"""
