"""Shared trees: owners release a pruned decision tree and no records (Sharkey 2008).

Trees learned from randomized counts are in `learn.tree`.
"""
