"""Other libraries at the same work, in an environment of their own (`.venv-bench`).

A function takes what the comparison names, prepares (loads, converts), and returns what does the
work once. Nothing of Pramana is imported here, for it is not installed there.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def columns(folder: str) -> dict[str, np.ndarray]:
    """Return the arrays that `Bench.saved` wrote, by name, read into memory."""
    import numpy as np

    return {path.stem: np.load(path) for path in sorted(Path(folder).glob("*.npy"))}


def threads() -> int:
    """Return how many threads this process may use; libraries that go by it know already."""
    return int(os.environ["OMP_NUM_THREADS"])
