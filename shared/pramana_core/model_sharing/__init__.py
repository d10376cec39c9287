"""Shared trees: owners release a pruned decision tree and no records (Sharkey 2008)."""
