"""Shared trees: owners release a pruned decision tree instead of records (Sharkey 2008).

The room contains trees, their schemas, their growth (`growing`, which takes splits from `offers`),
requirements on them, and pseudo-data of one tree. Only `private` adds noise. In `global_models` a
miner draws pseudo-data from the trees of several owners, or combines the trees themselves.
"""
