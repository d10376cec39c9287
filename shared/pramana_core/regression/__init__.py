"""Least-squares regression of a numeric column on other columns, for masked records.

The learner does not use how the records were masked. Models do not contain records.
"""
