"""Shared trees: owners release a pruned decision tree and no records (Sharkey 2008).

A miner draws pseudo-data from the trees of several owners, or combines the trees themselves.
"""
