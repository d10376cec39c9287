"""What identifies the keyed draws of a release's blocks, whoever the records are."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "8"
down_revision = "7"


def upgrade() -> None:
    """Add the column: of releases that are there it is not known."""
    op.add_column("releases", sa.Column("keyed_draws", sa.Text(), nullable=True))
