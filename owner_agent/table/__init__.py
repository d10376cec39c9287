"""The table: its columns as text, the codes they become, and predictions."""
