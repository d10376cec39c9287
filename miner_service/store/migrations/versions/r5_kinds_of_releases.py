"""Releases of several kinds; until then all were randomized records, and held a plan."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "5"
down_revision = "4"


def upgrade() -> None:
    """Give every release its kind, and what it holds a name that fits all."""
    op.alter_column("releases", "plan", new_column_name="content")
    op.alter_column("releases", "plan_digest", new_column_name="content_digest")
    op.add_column(
        "releases",
        sa.Column("kind", sa.String(300), nullable=False, server_default="randomized-records"),
    )
