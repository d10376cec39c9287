"""All methods on one table, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pramana.frames.sentences import one_sentence
from pramana.masking.columns import Columns
from shared.terminal import progress_bar

if TYPE_CHECKING:
    import pandas as pd


def compared(columns: Columns, seed: int) -> pd.DataFrame:
    """Mask a table by every method and return a row for each (`shared.mask.comparison`)."""
    import numpy as np

    from shared.mask.comparison import compare

    with progress_bar("masking by every method") as bar, one_sentence("frame"):
        found = compare(columns.s, columns.x, np.random.default_rng(seed), on_step=bar)
    return found.frame()
