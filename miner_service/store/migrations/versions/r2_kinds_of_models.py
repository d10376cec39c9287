"""Models of several kinds; until then all were networks, stored as BIF, too."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "2"
down_revision = "1"


def upgrade() -> None:
    """Give every model its kind."""
    op.add_column(
        "models", sa.Column("kind", sa.String(300), nullable=False, server_default="bayes-net")
    )
    op.drop_column("models", "bif")
