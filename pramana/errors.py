"""All errors that Pramana raises on purpose, under the names that tracebacks show."""

from pramana_core import errors as _errors
from pramana_core.errors import *  # noqa: F403

__all__ = [
    name
    for name, found in vars(_errors).items()
    if isinstance(found, type) and issubclass(found, _errors.PramanaError)
]
