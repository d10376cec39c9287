"""The custodian's choices for corrected records, without the code that applies the choices."""

from typing import Literal

CorrectionChoice = Literal["keep"]
""""keep" repeats the first reports of corrected records; `new-epoch` draws all reports anew."""
