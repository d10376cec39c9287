"""Which method a table calls for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pramana.frames.sentences import one_sentence, options_told
from pramana.frames.tables import Frame
from pramana.masking.columns import Columns, columns_of

if TYPE_CHECKING:
    from pramana_core.mask.advice import Recommendation


@options_told
def recommend_masking(
    frame: Frame, confidential: str | Sequence[str], *, tell: str | Sequence[str] | None = None
) -> Recommendation:
    """Name the simplest masking method that keeps the relationships of a table.

    Linear dependence calls for `egadp`, monotonic for data shuffling, any other for `nmegadp`
    (AlAhmadi's match of methods and relationships).

    Args:
        frame: the true records, n rows without missing cells.
        confidential: the numeric columns to mask.
        tell: the columns to release as they are; None for all others.

    Returns:
        the recommendation: `method`, `kind`, the evidence and a sentence on it.

    Raises:
        TableError, OptionError: as of `pm.mask`.

    Examples:
        >>> import pramana as pm
        >>> advice = pm.recommend_masking(pm.example("store"), ["expenditure", "debt"])
        >>> advice.kind, advice.method
        ('non-monotonic', 'nmegadp')
    """
    return recommended(columns_of(frame, confidential, tell), 0)


def recommended(columns: Columns, seed: int) -> Recommendation:
    """Return what is recommended for a table; the seed decides what is drawn on the way."""
    import numpy as np

    from pramana_core.mask.advice import recommend

    with one_sentence("frame"):
        return recommend(columns.s, columns.x, np.random.default_rng(seed))
