"""Options, model documents, columns of records, projections and random streams of all learners.

Code that only one kind of model needs lives with that model.
"""
