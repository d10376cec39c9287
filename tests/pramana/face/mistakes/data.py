"""Mistakes with tables, categories, plans and designs."""

from __future__ import annotations

import pramana as pm
from shared.errors import OptionError
from tests.pramana.face.mistakes import Mistake

MISTAKES = [
    Mistake(
        "an example that there is not",
        lambda: pm.example("iris"),
        OptionError,
        ("name", "'iris'", "berkeley"),
    ),
]
