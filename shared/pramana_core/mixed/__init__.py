"""Tables of numeric and categorical columns: read from arrays or frames, and as design matrices.

Nothing here knows of masking, of regression or of a release; true values stay out of every message.
"""
