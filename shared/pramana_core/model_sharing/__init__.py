"""Shared trees: owners release a pruned decision tree instead of records (Sharkey 2008).

The package contains trees, their schemas, their growth (`growing`, which takes splits from
`offers`), requirements on trees, and pseudo-data of one tree. Only the module `private` adds noise.
The package `global_models` draws pseudo-data from the trees of several owners, or combines the
trees themselves.
"""
