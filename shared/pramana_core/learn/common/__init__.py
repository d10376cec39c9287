"""Shared by all learners: options, model documents, columns of records, projections and seeded
random streams.

Code that only one kind of model needs lives with that model.
"""
