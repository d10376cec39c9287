"""Tables that were masked before: one that differs from them by few records gives these away.

There is no ledger here, as an owner has one (`owner-agent mask`). What was masked in this process
is remembered as hashes, and what was masked before can be passed. Who a record is of is not known:
records are the same here that have the same values, as far as these are known.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import starmap
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pramana.frames.sentences import quoted
from pramana.frames.tables import shown
from pramana.masking.columns import Columns
from pramana.masking.masked_frame import MaskedFrame
from pramana.masking.methods import methods
from pramana_core.errors import OptionError

if TYPE_CHECKING:
    import pandas as pd

    from pramana_core.mask.core.cautions import Caution

FEW = 10
"""Tables are nearly the same that differ by at most so many records, ..."""

SHARE = 0.1
"""... or by this share of them, and have more than that in common."""

UNIQUE = 0.95
"""Values nearly identify records that are the only ones of their values in this share of both."""

CHANCE = 1e-4
"""Tables of different people are as much alike as one would be found to share records with another
at most this often."""

Hashes = npt.NDArray[np.uint32]
"""Half the length is enough: among four million records one in a thousand has another's hash."""


@dataclass(frozen=True, eq=False)
class Sketch:
    """What is remembered of a table: hashes of its records, and how it was masked.

    Attributes:
        records: n.
        told: the columns told as they are, by name.
        rows: a hash of each record's told values: n.
        cells: hashes of each confidential column of which the true values are known: n each.
        confidential: the columns that were masked.
        exact: whether sums or the set of values are those of the true records.
    """

    records: int
    told: tuple[str, ...]
    rows: Hashes = field(repr=False)
    cells: Mapping[str, Hashes] = field(repr=False)
    confidential: tuple[str, ...]
    exact: bool

    def same(self, other: Sketch) -> bool:
        """Return whether both remember the same: a table that is masked again."""
        return (
            (self.told, self.confidential, self.exact, self.cells.keys())
            == (other.told, other.confidential, other.exact, other.cells.keys())
            and np.array_equal(self.rows, other.rows)
            and all(np.array_equal(self.cells[name], other.cells[name]) for name in self.cells)
        )


@dataclass(frozen=True)
class Difference:
    """How a table differs from one that was masked before, and nearly is it.

    Attributes:
        gone: how many records only the earlier one has.
        added: how many only this one has.
        names: the confidential columns of both.
        by: the columns of which told values alone were compared; none where the confidential
            values were known, too.
        alike: whether that so many records have the same values is no chance.
        sure: whether records that have the same values are surely the same.
    """

    gone: int
    added: int
    names: tuple[str, ...]
    by: tuple[str, ...]
    alike: bool
    sure: bool

    @property
    def rank(self) -> tuple[bool, bool, int]:
        """The smallest is the one that a warning names."""
        return not self.sure, not self.alike, max(self.gone, self.added)

    @property
    def caution(self) -> Caution:
        """What to know of it: an alarm only if it is sure that there is reason for one."""
        from pramana_core.mask.core.cautions import Caution, Gravity

        if self.sure and not self.by:
            return Caution(f"{self._records} {self._given_away}", Gravity.GRAVE)
        if self.sure:
            said = f"By {quoted(self.by)}, {_lowered(self._records)}"
            said += " If the values of the others are as they were,"
            return Caution(f"{said} {_lowered(self._given_away)}", Gravity.GRAVE)
        if self.alike:
            return Caution(
                f"By {quoted(self.by)}, this table seems to have most of its records in common with"
                f" one that was masked before. If it has, the difference of the sums of"
                f" {quoted(self.names)} in both releases tells of those that differ. Release one"
                " of them."
            )
        return Caution(
            f"This table has nearly the same values of {quoted(self.by or self.names)} as one that"
            " was masked before; too many records are alike in them to tell whether both tables are"
            " of the same people. If they are, release one of them.",
            Gravity.NOTE,
        )

    @property
    def _records(self) -> str:
        if not self.added:
            return f"This table lacks {_counted(self.gone)} of one that was masked before."
        if not self.gone:
            return f"This table has {_counted(self.added)} more than one that was masked before."
        if self.gone == self.added:
            return (
                f"{_counted(self.gone).capitalize()} of a table that was masked before"
                f" {'was' if self.gone == 1 else 'were'} changed or replaced in this one."
            )
        return (
            "Of this table and one that was masked before, records were changed or replaced:"
            f" {_counted(self.gone)} of that and {_counted(self.added)} of this are in it alone."
        )

    @property
    def _given_away(self) -> str:
        gap = f"The difference of the sums of {quoted(self.names)} in both releases is"
        if self.gone == self.added == 1:
            what = "that of its values before and now"
        elif self.gone and self.added:
            what = "that of the sums over these records"
        elif self.gone + self.added == 1:
            what = "its value"
        else:
            what = "the sum of their values"
        return f"{gap} {what}. Release one of them."


_SESSION: deque[Sketch] = deque(maxlen=20)
"""The tables that this process masked last."""


def earlier_ones(earlier: object) -> list[MaskedFrame]:
    """Return what was masked before, as it is passed. Raises OptionError otherwise."""
    several = earlier if isinstance(earlier, list | tuple) else [earlier]
    found = []
    for one in several if earlier is not None else ():
        if not isinstance(one, MaskedFrame):
            raise OptionError(
                "earlier must be a MaskedFrame or a list of them, as pm.mask made and pm.load"
                f" reads them, not {shown(one)}.",
                where="earlier",
            )
        found.append(one)
    return found


def remembered(columns: Columns, method: str, earlier: Iterable[MaskedFrame]) -> Caution | None:
    """Return a sentence if a table is nearly one masked before, and remember it from now on.

    Args:
        columns: the table.
        method: how it was masked.
        earlier: what was masked beside the tables of this session. Of what was loaded the told
            columns alone are known.
    """
    new = _sketch(columns.table, columns.told, columns.confidential, method)
    pairs = [(new, old) for old in _SESSION]
    for one in earlier:
        told = [name for name in columns.told if name in one.tell]
        table = one.frame if one.origin is None else one.origin.columns.table
        old = _sketch(table, told, one.confidential, one.method, known=one.origin is not None)
        pairs.append((_sketch(columns.table, told, columns.confidential, method), old))
    found = [difference for difference in starmap(_difference, pairs) if difference is not None]
    if not any(new.same(old) for old in _SESSION):
        _SESSION.append(new)
    return min(found, key=lambda one: one.rank).caution if found else None


def _sketch(
    table: pd.DataFrame,
    told: Sequence[str],
    confidential: Sequence[str],
    method: str,
    *,
    known: bool = True,
) -> Sketch:
    """Return what is remembered of a table whose confidential values are true ones, if `known`."""
    how = methods()[method]
    return Sketch(
        len(table),
        tuple(sorted(told)),
        _rows([_cells(table[name]) for name in sorted(told)], len(table)),
        {name: _cells(table[name]) for name in confidential} if known else {},
        tuple(confidential),
        how.exact_moments or how.released_values,
    )


def _difference(new: Sketch, old: Sketch) -> Difference | None:
    """Return how a table differs from an earlier one.

    None if it does not, if it differs by many records, if neither tells of the other or if there is
    nothing by which records could be compared.
    """
    names = tuple(name for name in new.confidential if name in old.confidential)
    known = [name for name in names if name in new.cells and name in old.cells]
    told = bool(new.told) and new.told == old.told
    if not (names and new.exact and old.exact and (known or told)):
        return None
    sides = []
    for one in (new, old):
        beside = [one.rows] if told else []
        sides.append(_rows([*beside, *(one.cells[name] for name in known)], one.records))
    every, places = np.unique(np.concatenate(sides), return_inverse=True)
    ours = np.bincount(places[: new.records], minlength=len(every))
    theirs = np.bincount(places[new.records :], minlength=len(every))
    added, gone = (int((a - b).clip(min=0).sum()) for a, b in ((ours, theirs), (theirs, ours)))
    count, most = max(added, gone), max(new.records, old.records)
    if not count or count > max(FEW, SHARE * most) or most - count <= count:
        return None
    unique = all(
        np.count_nonzero(counts == 1) >= UNIQUE * counts.sum() for counts in (ours, theirs)
    )
    alike = unique or _no_chance(ours, theirs)
    # Sets of values that hold the confidential ones, too, differ by these, whose they ever are.
    return Difference(
        gone, added, names, () if known else new.told, alike, sure=alike if known else unique
    )


def _no_chance(ours: npt.NDArray[np.intp], theirs: npt.NDArray[np.intp]) -> bool:
    """Return whether tables of different people would hardly have values as often as each other.

    Of t records of one value in both tables, half are in each with a probability of at most 1/2; so
    the number of values that are equally frequent is bounded by Hoeffding's inequality.
    """
    equal = float(np.mean(ours == theirs)) - 0.5
    return equal > 0 and bool(np.exp(-2 * len(ours) * equal**2) < CHANCE)


def _cells(column: pd.Series) -> Hashes:
    """Return a hash of each cell; numbers are the same whatever their type."""
    import pandas as pd

    numeric = pd.api.types.is_numeric_dtype(column.dtype)
    plain = column.to_numpy(dtype=float) + 0.0 if numeric else column.astype(str).to_numpy(object)
    return (pd.util.hash_array(plain) >> np.uint64(32)).astype(np.uint32)


def _rows(columns: Sequence[Hashes], records: int) -> Hashes:
    """Return a hash of each record over the hashes of its cells."""
    found = np.zeros(records, dtype=np.uint64)
    for cells in columns:
        found = (found ^ cells) * np.uint64(0x9E3779B97F4A7C15)
        found ^= found >> np.uint64(29)
    return (found >> np.uint64(32)).astype(np.uint32)


def _counted(records: int) -> str:
    return "one record" if records == 1 else f"{records:,} records"


def _lowered(sentence: str) -> str:
    return f"{sentence[0].lower()}{sentence[1:]}"
