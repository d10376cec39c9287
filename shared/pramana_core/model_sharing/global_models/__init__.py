"""Global models: what is learned from several owners' trees, and how good it is.

The owners' own trees are grown and pruned in `model_sharing`.
"""
