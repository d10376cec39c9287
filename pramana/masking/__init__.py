"""Masking confidential numeric columns of data frames: `pm.mask`, what it gives, and its measures.

What a call means is understood here, and results are shown; methods and measures are in
`pramana_core.mask`. Keyed masking, the ledger and releases are the owner's (`owner_agent.release`).
"""
