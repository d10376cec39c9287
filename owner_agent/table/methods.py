"""The ways to cut a numeric column."""

from __future__ import annotations

from enum import StrEnum


class Method(StrEnum):
    """How a column is cut."""

    mgas = "mgas"
    equal_width = "equal-width"
    equal_frequency = "equal-frequency"
