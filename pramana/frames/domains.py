"""Public names for the classes that describe a table's columns."""

from pramana_core.domain import Domain, Variable

__all__ = ["Domain", "Variable"]
