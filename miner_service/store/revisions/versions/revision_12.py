"""Adds the central budget of studies."""

import sqlalchemy
from alembic import op

revision = "12"
down_revision = "11"


def upgrade() -> None:
    """Add the columns of the budget. A study from schema 11 has no central budget."""
    columns: tuple[sqlalchemy.Column[float | int | None], ...] = (
        sqlalchemy.Column("max_central_epsilon", sqlalchemy.Double()),
        sqlalchemy.Column(
            "central_delta", sqlalchemy.Double(), nullable=False, server_default="1e-8"
        ),
        sqlalchemy.Column(
            "central_records",
            sqlalchemy.BigInteger().with_variant(sqlalchemy.Integer(), "sqlite"),
        ),
    )
    for column in columns:
        op.add_column("studies", column)
