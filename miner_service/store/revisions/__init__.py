"""Upgrades of the database's schema by Alembic: one file in `versions` for each change."""
