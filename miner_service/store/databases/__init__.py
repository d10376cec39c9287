"""The databases that a miner can keep its rows in: a file of SQLite, or PostgreSQL.

Which of them it is, nobody above knows: what both do is `miner_service.store.database`. How tables
of an earlier version become those of this one is in `miner_service.store.migrations`.
"""
