"""Shared trees: `pm.share_tree`, what may leave, and what is learned from such trees.

What a call means is understood here, and results are shown; growing, pruning, generating and
combining are in `pramana_core.model_sharing`. The ledger and releases are the owner's
(`owner_agent.release.tree`).
"""
