"""What describes a table's columns, and the errors, under the names that people import."""

from pramana_core.domain import Domain, Variable
from pramana_core.errors import InputError, NotFitted, PramanaError

__all__ = ["Domain", "InputError", "NotFitted", "PramanaError", "Variable"]
