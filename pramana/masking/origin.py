"""The true records behind masked ones, as long as these are in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pramana.masking.advising import recommended
from pramana.masking.columns import Columns
from pramana_core.mixed.table import MixedTable, read_mixed

if TYPE_CHECKING:
    import pandas as pd

    from pramana_core.mask.advice import Recommendation


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
