"""Upgrades of the database's schema by Alembic: one file in `versions` for each change.

`miner_service.store.schema` has the current tables.
"""
