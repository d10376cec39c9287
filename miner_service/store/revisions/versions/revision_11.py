"""The oldest schema that can be upgraded. `Base.metadata` created its tables."""

revision = "11"
down_revision = None


def upgrade() -> None:
    """Change nothing, because the tables exist."""
