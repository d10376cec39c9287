"""Masking of confidential numeric columns: `pm.mask`, its results and their measures.

This package reads arguments and displays results. Methods and measures are in `pramana_core.mask`;
keyed masking, the ledger and releases are in `owner_agent.release`.
"""
