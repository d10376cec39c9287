"""One module for each change of the tables, numbered; each knows the one before it.

They name columns as they were then, and never import the tables of today: those change, and what a
migration did must not.
"""
