"""Studies have a central budget."""

import sqlalchemy
from alembic import op

revision = "12"
down_revision = "11"


def upgrade() -> None:
    """Add the columns of the budget; a study of schema 11 has none."""
    columns = (
        sqlalchemy.Column("max_central_epsilon", sqlalchemy.Double()),
        sqlalchemy.Column(
            "central_delta", sqlalchemy.Double(), nullable=False, server_default="1e-8"
        ),
        sqlalchemy.Column("central_records", sqlalchemy.Integer()),
    )
    for column in columns:
        op.add_column("studies", column)
