"""Adds the groups of categories that owners state."""

import sqlalchemy
from alembic import op

revision = "13"
down_revision = "12"


def upgrade() -> None:
    """Add the column. A release from schema 12 states no groups."""
    op.add_column("releases", sqlalchemy.Column("groups", sqlalchemy.Text()))
