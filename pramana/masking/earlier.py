"""Tables that were masked before: one that differs from them by few records gives these away.

There is no ledger here, as an owner has one (`owner-agent mask`). What was masked in this process
is remembered as hashes of its cells, and what was masked before can be passed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pramana.frames.sentences import quoted
from pramana.frames.tables import shown
from pramana.masking.masked_frame import MaskedFrame
from pramana.masking.methods import methods
from shared.errors import OptionError

if TYPE_CHECKING:
    import pandas as pd

    from shared.mask.core.caution import Caution

FEW = 10
"""Tables are nearly the same that differ by at most so many records, ..."""

SHARE = 0.1
"""... or by this share of them, and have more than that in common."""

Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Sketch:
    """What is remembered of a table: the hash of each cell, and how it was masked.

    Attributes:
        cells: n hashes of each column of which the true values are known.
        confidential: the columns that were masked.
        exact: whether sums or the set of values are those of the true records.
    """

    cells: Mapping[str, Hashes] = field(repr=False)
    confidential: tuple[str, ...]
    exact: bool

    def differing(self, other: Sketch) -> int | None:
        """Return how many records only one of two tables has, the larger number of both.

        None if they have no confidential column in common, or no column at all by which records
        could be compared.
        """
        common = sorted(set(self.cells) & set(other.cells))
        if not common or not set(self.confidential) & set(other.confidential):
            return None
        ours, mine = np.unique(_rows(self, common), return_counts=True)
        theirs, yours = np.unique(_rows(other, common), return_counts=True)
        every = np.union1d(ours, theirs)
        difference = np.zeros(len(every), dtype=np.int64)
        difference[np.searchsorted(every, ours)] += mine
        difference[np.searchsorted(every, theirs)] -= yours
        return int(max(difference.clip(min=0).sum(), (-difference).clip(min=0).sum()))

    @property
    def records(self) -> int:
        """n."""
        return len(next(iter(self.cells.values()), ()))


_SESSION: deque[Sketch] = deque(maxlen=20)
"""The tables that this process masked last."""


def sketch(table: pd.DataFrame, confidential: Sequence[str], method: str) -> Sketch:
    """Return what is remembered of a table of true records."""
    import pandas as pd

    cells = {}
    for name in table.columns:
        column = table[name]
        numeric = pd.api.types.is_numeric_dtype(column.dtype)
        plain = column.to_numpy(dtype=float) if numeric else column.astype(str).to_numpy(object)
        cells[str(name)] = pd.util.hash_array(plain + 0.0 if numeric else plain)
    how = methods()[method]
    return Sketch(cells, tuple(confidential), how.exact_moments or how.released_values)


def sketches_of(earlier: object) -> list[Sketch]:
    """Return sketches of what was masked before; of what was loaded, of its told columns.

    Raises:
        OptionError: they are no masked frames.
    """
    several = earlier if isinstance(earlier, list | tuple) else [earlier]
    found = []
    for one in several if earlier is not None else ():
        if not isinstance(one, MaskedFrame):
            raise OptionError(
                "earlier must be a MaskedFrame or a list of them, as pm.mask made and pm.load"
                f" reads them, not {shown(one)}.",
                where="earlier",
            )
        table = one.frame[list(one.tell)] if one.origin is None else one.origin.columns.table
        found.append(sketch(table, one.confidential, one.method))
    return found


def remembered(new: Sketch, earlier: Iterable[Sketch]) -> Caution | None:
    """Return a sentence if a table is nearly one masked before, and remember it from now on.

    Args:
        new: the table.
        earlier: tables beside those of this session.
    """
    from shared.mask.core.caution import Caution, Gravity

    closest: tuple[int, Sketch] | None = None
    for old in (*_SESSION, *earlier):
        count = new.differing(old) if new.exact and old.exact else None
        if count and _nearly(count, new, old) and (closest is None or count < closest[0]):
            closest = count, old
    _SESSION.append(new)
    if closest is None:
        return None
    count, old = closest
    names = [name for name in new.confidential if name in old.confidential]
    whose = "one record: its value is" if count == 1 else f"{count:,} records: their sum is"
    return Caution(
        f"This table and one that was masked before differ by {whose} the difference of the sums"
        f" of {quoted(names)} in both releases. Release one of them.",
        Gravity.GRAVE,
    )


def _nearly(count: int, new: Sketch, old: Sketch) -> bool:
    most = max(new.records, old.records)
    return count <= max(FEW, SHARE * most) and most - count > count


def _rows(of: Sketch, names: Sequence[str]) -> Hashes:
    """Return a hash of each record over some columns."""
    found = np.zeros(of.records, dtype=np.uint64)
    for name in names:
        found = (found * np.uint64(0x9E3779B97F4A7C15)) ^ of.cells[name]
        found ^= found >> np.uint64(29)
    return found
