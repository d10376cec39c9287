"""A study's people, a release's linkage secret, and its reports beside earlier ones."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "7"
down_revision = "6"


def upgrade() -> None:
    """Add the columns: of studies that said nothing, nothing is assumed."""
    op.add_column(
        "studies",
        sa.Column("people", sa.String(300), nullable=False, server_default="overlapping"),
    )
    op.add_column("releases", sa.Column("linkage", sa.String(300), nullable=True))
    op.add_column("releases", sa.Column("repeated", sa.Text(), nullable=True))
