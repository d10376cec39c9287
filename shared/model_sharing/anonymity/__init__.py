"""Anonymity of trees: what is required of each path, and pruning until it is met (section 3)."""
