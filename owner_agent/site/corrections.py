"""What a custodian may choose for records that were corrected after they were reported."""

from __future__ import annotations

from typing import Literal

CorrectionChoice = Literal["keep", "fresh"]
"""Keep the reports that corrected records have, or draw all records anew."""

HELP = (
    "For records that left before and have other values now: keep their reports, or draw all"
    " records of the block afresh, at its epsilon once more."
)
"""What a command says of the choice."""
