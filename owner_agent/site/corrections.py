"""The custodian's choices for corrected records. The code that applies them is elsewhere."""

from typing import Literal

CorrectionChoice = Literal["keep"]
""""keep" repeats first reports of corrected records; `new-epoch` randomizes all records again."""
