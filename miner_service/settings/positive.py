"""The check that all sections of the settings share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from pramana_core.errors import OptionError


def require_positive(section: Any, zero: Sequence[str] = ()) -> None:
    """Check that every number of a section is positive; some may be 0. Raises OptionError."""
    for field in fields(section):
        value = getattr(section, field.name)
        if value == 0 and field.name in zero:
            continue
        if isinstance(value, int | float) and not isinstance(value, bool) and value <= 0:
            raise OptionError(
                f"The limit {field.name} is {value}; it must be positive.", where=field.name
            )
