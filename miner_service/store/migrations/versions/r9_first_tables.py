"""The first tables: those of `miner_service.store.schema`, which a new database is given at once.

Revisions below it were steps of the development, and no released miner had them.
"""

revision = "9"
down_revision = None


def upgrade() -> None:
    """Do nothing: a database that is stamped with this revision has its tables."""
