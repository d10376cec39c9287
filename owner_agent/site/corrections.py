"""What a custodian may choose for corrected records; `publish --help` loads nothing else."""

from typing import Literal

CorrectionChoice = Literal["keep"]
"""Keep the reports that corrected records have; all records are drawn anew by `new-epoch`."""
