"""Regression of a numeric column on others, from masked records: least squares, kernels, trees.

A learner takes tables, one for each masked copy, and gives a frozen model with its errors and
diagnostics. It does not know how the records were masked, and no model holds a record.
"""
