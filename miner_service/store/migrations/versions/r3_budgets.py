"""A study's budget, a release's draws and its consistency with its plan."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "3"
down_revision = "2"


def upgrade() -> None:
    """Add the columns: nothing was known of them before."""
    op.add_column("studies", sa.Column("max_epsilon_record", sa.Double(), nullable=True))
    op.add_column("studies", sa.Column("max_epsilon_column", sa.Double(), nullable=True))
    op.add_column("releases", sa.Column("draws", sa.Text(), nullable=True))
    op.add_column("releases", sa.Column("consistency", sa.Text(), nullable=True))
