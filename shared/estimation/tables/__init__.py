"""Tables of estimated counts with their errors: by moments, by likelihood, or of a model."""
