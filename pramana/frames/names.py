"""What describes a table's columns, and the errors, under the names that people import."""

from shared.domain import Domain, Variable
from shared.errors import InputError, NotFitted, PramanaError

__all__ = ["Domain", "InputError", "NotFitted", "PramanaError", "Variable"]
