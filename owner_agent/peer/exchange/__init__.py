"""The exchange of columns: local records, randomized releases to a peer, and received columns.

Exact counts are limited in `owner_agent.peer.exact`.
"""
