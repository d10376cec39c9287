"""The custodian's choices for corrected records, apart from the modules that apply them."""

from typing import Literal

CorrectionChoice = Literal["keep"]
""""keep" repeats the first reports of corrected records; `new-epoch` draws all reports anew."""
