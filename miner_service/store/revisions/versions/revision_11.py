"""The oldest schema that can be upgraded; `Base.metadata` made its tables."""

revision = "11"
down_revision = None


def upgrade() -> None:
    """Change nothing: the tables exist."""
