"""What Alembic runs: the migrations, on the connection that it was given.

It is loaded by Alembic from its path, and never imported.
"""

from __future__ import annotations

from alembic import context

connection = context.config.attributes["connection"]
context.configure(connection=connection)
# The transaction is the caller's, who holds the write lock.
context.run_migrations()
