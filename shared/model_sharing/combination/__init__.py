"""Global models and their measures.

They are learned from several owners' pseudo-data, or are their trees combined themselves.
"""
