"""The first tables: studies and their people, releases and their parts, jobs and their models."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa
from alembic import op

revision = "1"
down_revision = None

_NAME = sa.String(300)
_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the tables."""
    _people()
    _releases()
    _jobs()


def _seq() -> sa.Column[int]:
    return sa.Column("seq", _NUMBER, primary_key=True)


def _study(*, nullable: bool = False) -> sa.Column[str]:
    return sa.Column("study", _NAME, sa.ForeignKey("studies.name"), nullable=nullable)


def _text(name: str, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=nullable)


def _name(name: str, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, _NAME, nullable=nullable)


def _id() -> sa.Column[str]:
    return sa.Column("id", _NAME, nullable=False, unique=True)


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, _NUMBER, nullable=False)


def _moment(name: str, *, nullable: bool = False) -> sa.Column[datetime]:
    return sa.Column(name, sa.DateTime(), nullable=nullable)


def _flag(name: str) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean(), nullable=False)


def _people() -> None:
    op.create_table(
        "studies",
        _seq(),
        sa.Column("name", _NAME, nullable=False, unique=True),
        sa.Column("title", sa.String(500), nullable=False),
        _moment("created"),
    )
    op.create_table(
        "tokens",
        _seq(),
        _id(),
        _name("hash"),
        _name("role"),
        _study(nullable=True),
        _name("name"),
        _moment("created"),
        _flag("revoked"),
    )
    op.create_index("ix_tokens_study", "tokens", ["study"])
    op.create_table(
        "invitations",
        _seq(),
        _id(),
        _name("hash"),
        _study(),
        _name("owner"),
        _moment("created"),
        _moment("expires"),
        _moment("accepted", nullable=True),
    )
    op.create_index("ix_invitations_study", "invitations", ["study"])
    op.create_table(
        "owners",
        _seq(),
        _study(),
        _name("name"),
        _moment("joined"),
        _flag("active"),
        sa.UniqueConstraint("study", "name"),
    )


def _releases() -> None:
    op.create_table(
        "releases",
        _seq(),
        _id(),
        _study(),
        _name("owner"),
        _name("name"),
        _name("state"),
        _text("plan"),
        _name("plan_digest"),
        _number("records"),
        _name("digest"),
        _moment("created"),
        _moment("sealed", nullable=True),
        sa.Column("sealing", _NUMBER, nullable=True, unique=True),
        _name("keys_digest", nullable=True),
        _name("data_sha256", nullable=True),
        sa.UniqueConstraint("study", "owner", "name"),
    )
    op.create_index("ix_releases_study", "releases", ["study"])
    op.create_table(
        "parts",
        sa.Column("release", _NAME, sa.ForeignKey("releases.id"), primary_key=True),
        sa.Column("number", _NUMBER, primary_key=True),
        _number("records"),
        _number("bytes"),
        _name("sha256"),
        _name("media", nullable=True),
        _moment("received", nullable=True),
    )


def _jobs() -> None:
    op.create_table(
        "jobs",
        _seq(),
        _id(),
        _study(),
        _name("key"),
        _flag("default_key"),
        _text("spec"),
        _text("releases"),
        _name("state"),
        _number("attempt"),
        _number("broken_off"),
        sa.Column("progress", sa.Double(), nullable=False),
        _name("model", nullable=True),
        _text("problem", nullable=True),
        _moment("created"),
        _moment("finished", nullable=True),
        sa.UniqueConstraint("study", "key"),
    )
    op.create_index("ix_jobs_state", "jobs", ["state"])
    op.create_index("ix_jobs_study", "jobs", ["study"])
    op.create_table(
        "models",
        _seq(),
        _id(),
        _study(),
        sa.Column("job", _NAME, sa.ForeignKey("jobs.id"), nullable=False),
        _text("body"),
        _text("bif"),
        _moment("created"),
    )
    op.create_index("ix_models_study", "models", ["study"])
