"""Options, model documents, columns of records, projections and random streams, for all learners.

Code for only one kind of model is in the package of that model.
"""
