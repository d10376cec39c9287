"""The plan that a study's owners agree on."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "4"
down_revision = "3"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "study_plans",
        sa.Column("study", sa.String(300), sa.ForeignKey("studies.name"), primary_key=True),
        sa.Column("digest", sa.String(300), nullable=False),
        sa.Column("plan", sa.Text(), nullable=False),
        sa.Column("agreed", sa.DateTime(), nullable=False),
    )
