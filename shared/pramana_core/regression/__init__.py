"""Least-squares regression of a numeric column on others, from masked records.

A learner takes tables, one for each masked copy, and returns a frozen model with its errors. It
does not know how the records were masked, and no model contains a record.
"""
