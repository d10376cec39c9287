"""How the tables of earlier versions of the miner become those of this one, by Alembic.

One module of `versions` for each change; what the tables are now is `miner_service.store.schema`,
and whether they have to be changed is found out in `miner_service.store.sql_database`.
"""

REVISIONS = ("9",)
"""Every revision that there was, oldest first."""

HEAD = REVISIONS[-1]
"""The revision of this version's tables."""
