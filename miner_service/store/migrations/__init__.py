"""How the tables of earlier versions of the miner become those of this one, by Alembic.

One module of `versions` for each change; what the tables are now is `miner_service.store.schema`,
and whether they have to be changed is found out in `miner_service.store.databases`.
"""

REVISIONS = ("1", "2", "3", "4", "5", "6", "7", "8")
"""Every revision that there was, oldest first. Until the sixth it was SQLite's `user_version`."""

HEAD = REVISIONS[-1]
"""The revision of this version's tables."""
