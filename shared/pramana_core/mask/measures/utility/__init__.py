"""What a masked table is still good for: models, relationships, correlations, marginals.

Each measure compares (S, Y) with (S, X) of the same records. What the table gives away is not
asked here.
"""
