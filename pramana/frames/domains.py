"""What describes a table's columns, under the names that people import."""

from pramana_core.domain import Domain, Variable

__all__ = ["Domain", "Variable"]
