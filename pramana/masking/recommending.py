"""Which method the true records call for, and what a masked frame remembers of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pramana.frames.sentences import one_sentence, options_told
from pramana.frames.tables import Frame
from pramana.masking.columns import Columns, columns_of
from pramana_core.mixed import MixedTable, read_mixed

if TYPE_CHECKING:
    import pandas as pd

    from pramana_core.mask.recommending import Recommendation


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

    from pramana_core.mask.recommending import recommend

    with one_sentence("frame"):
        return recommend(columns.s, columns.x, np.random.default_rng(seed))


@dataclass(frozen=True, eq=False)
class Origin:
    """True records, and how the masked ones are ordered.

    Attributes:
        columns: the told and the confidential columns, n rows.
        order: n places: the released row k is the true row `order[k]`.
        seed: of the randomness that measures take: the same measures every time.
    """

    columns: Columns
    order: npt.NDArray[np.intp]
    seed: int

    @cached_property
    def recommendation(self) -> Recommendation:
        """What the true records call for."""
        return recommended(self.columns, self.seed)

    def unmixed(self, released: pd.DataFrame) -> pd.DataFrame:
        """Return released rows in the order of the true ones, with their index."""
        back = np.argsort(self.order)
        return released.iloc[back].set_axis(self.columns.table.index)

    def masked(self, released: pd.DataFrame, names: Sequence[str]) -> MixedTable:
        """Return the masked columns as a table in the order of the true records."""
        chosen: Any = self.unmixed(released)[list(names)]
        return read_mixed(chosen, "frame")
