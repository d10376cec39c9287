"""Shared trees: `pm.share_tree` makes a tree to release; `pm.combine_trees` combines trees.

This package reads arguments and displays results. Growing, pruning, generating and combining are in
`pramana_core.model_sharing`; the ledger and releases are in `owner_agent.release.tree`.
"""
