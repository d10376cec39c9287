"""Least-squares regression of a numeric column on others, from masked records.

The learner does not know how the records were masked, and no model contains a record.
"""
