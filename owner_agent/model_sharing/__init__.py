"""Sharing a tree in place of records: learned, cut back, shown before it leaves, and published.

How trees are grown, made anonymous or private, and written is in `pramana_core.model_sharing`; here
is what an owner does with them. What columns lose by it is in the ledger of
`owner_agent.departures`.
"""
