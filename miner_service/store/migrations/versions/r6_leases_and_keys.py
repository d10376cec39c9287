"""Jobs leased by workers, tokens that expire, kept answers, and the service's own keys.

What lists look up of a specification or a model has a column of its own: JSON is read by each
database in its own way.
"""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "6"
down_revision = "5"

_NAME = sa.String(300)
_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the columns and tables, and fill what can be known of old rows."""
    for table, columns in _columns().items():
        for column in columns:
            op.add_column(table, column)
    _make_tables()
    arrived = sa.text("received IS NOT NULL")
    op.create_index(
        "parts_arrived",
        "parts",
        ["release", "number"],
        sqlite_where=arrived,
        postgresql_where=arrived,
    )
    _fill_jobs(op.get_bind())
    _fill_models(op.get_bind())


def _columns() -> dict[str, list[sa.Column[Any]]]:
    return {
        "tokens": [
            sa.Column("expires", sa.DateTime()),
            sa.Column("days", _NUMBER),
            sa.Column("replaces", _NAME),
            sa.Column("last_used", sa.DateTime()),
        ],
        "invitations": [sa.Column("days", _NUMBER)],
        "jobs": [
            sa.Column("records", _NAME),
            sa.Column("estimator", _NAME),
            sa.Column("revision", _NUMBER, nullable=False, server_default="0"),
            sa.Column("predicted_seconds", sa.Double()),
            sa.Column("predicted_bytes", sa.Double()),
            sa.Column("predicted_factor", sa.Double()),
            sa.Column("started", sa.DateTime()),
            sa.Column("lease", _NAME),
            sa.Column("beat", _NUMBER, nullable=False, server_default="0"),
            sa.Column("heartbeat", sa.DateTime()),
        ],
        "models": [
            sa.Column("holds_releases", sa.Boolean(), nullable=False, server_default=sa.false()),
            sa.Column("lack_of_fit", sa.Text()),
        ],
    }


def _make_tables() -> None:
    op.create_table(
        "job_log",
        sa.Column("seq", _NUMBER, primary_key=True),
        sa.Column("job", _NAME, sa.ForeignKey("jobs.id"), nullable=False, index=True),
        sa.Column("attempt", _NUMBER, nullable=False),
        sa.Column("revision", _NUMBER, nullable=False),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.Column("line", sa.Text(), nullable=False),
    )
    op.create_table(
        "supervisors",
        sa.Column("name", _NAME, primary_key=True),
        sa.Column("host", _NAME, nullable=False),
        sa.Column("workers", _NUMBER, nullable=False),
        sa.Column("started", sa.DateTime(), nullable=False),
        sa.Column("beat", _NUMBER, nullable=False),
        sa.Column("seen", sa.DateTime(), nullable=False),
    )
    op.create_table(
        "answers",
        sa.Column("key", _NAME, primary_key=True),
        sa.Column("request", _NAME, nullable=False),
        sa.Column("status", _NUMBER, nullable=False),
        sa.Column("answer", sa.LargeBinary(), nullable=False),
        sa.Column("expires", sa.DateTime(), nullable=False),
    )
    op.create_table(
        "service_keys",
        sa.Column("name", _NAME, primary_key=True),
        sa.Column("key", sa.LargeBinary(), nullable=False),
    )


def _fill_jobs(connection: sa.Connection) -> None:
    jobs = sa.table("jobs", *map(sa.column, ("seq", "spec", "records", "estimator")))
    for seq, spec in connection.execute(sa.select(jobs.c.seq, jobs.c.spec)).all():
        told = json.loads(spec)
        connection.execute(
            jobs.update()
            .where(jobs.c.seq == seq)
            .values(records=told.get("records"), estimator=told.get("estimator"))
        )


def _fill_models(connection: sa.Connection) -> None:
    """Fill the columns of one model after the other: a body may be large."""
    models = sa.table(
        "models",
        *map(sa.column, ("seq", "body", "lack_of_fit")),
        sa.column("holds_releases", sa.Boolean()),
    )
    for seq in connection.scalars(sa.select(models.c.seq)).all():
        told = json.loads(
            connection.scalars(sa.select(models.c.body).where(models.c.seq == seq)).one()
        )
        tests = told.get("lack_of_fit")
        connection.execute(
            models.update()
            .where(models.c.seq == seq)
            .values(
                holds_releases=bool(told.get("holds_releases")),
                lack_of_fit=json.dumps(tests) if tests else None,
            )
        )
